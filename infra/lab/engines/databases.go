package engines

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"flashsale/infra/lab/shop"
)

const (
	installMariaDB  = "apt-get install -y mariadb-server"
	installPostgres = "apt-get install -y postgresql"
	database        = "lab"
)

// do runs statements on a connection of their own.
func do(ctx context.Context, driver, source string, statements ...string) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return fmt.Errorf("configure database client: %w", err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// install runs a program that makes a database's files.
func install(ctx context.Context, dir string, command ...string) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("install database: %w: %s", err, out)
	}
	return nil
}

// startMariaDB starts a small server that starts quickly and keeps the durability of the
// defaults: every commit is in the log on disk before it is answered. MySQL's takes the same part where MariaDB
// is missing. Its root has no password: nobody but this machine's own processes can reach the server.
func startMariaDB(ctx context.Context, dir string, o Options) (Engine, error) {
	path, err := find(o, installMariaDB, "mariadbd", "mysqld")
	if err != nil {
		return nil, err
	}
	common := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--innodb-log-file-size=16M"}
	if os.Getuid() == 0 { // which the server refuses by default
		common = append(common, "--user=root")
	}
	installer, err := find(o, installMariaDB, "mariadb-install-db", "mysql_install_db")
	switch {
	case err == nil:
		err = install(ctx, dir, append(append([]string{installer}, common...), "--auth-root-authentication-method=normal", "--skip-test-db")...)
	case filepath.Base(path) == "mysqld": // MySQL's own server installs itself
		err = install(ctx, dir, append(append([]string{path}, common...), "--initialize-insecure")...)
	}
	if err != nil {
		return nil, err
	}
	e := &servers{
		all: []*server{{
			path: path,
			args: func(port int) []string {
				return append(common[:len(common):len(common)], "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
					// Relative to the data: a socket whose path is long cannot be opened.
					"--socket=s.sock", "--pid-file=pid",
					"--skip-log-bin", "--skip-name-resolve", "--max-connections=400",
					"--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=1", "--performance-schema=OFF",
					// What MySQL and MariaDB before 11.6 do: a transaction may write a row
					// that has changed since its snapshot.
					"--loose-innodb-snapshot-isolation=OFF")
			},
			serves: func(ctx context.Context, port int) error { return do(ctx, "mysql", mariaDB(port, ""), "SELECT 1") },
		}},
		reset: func(ctx context.Context, s *server) error {
			return do(ctx, "mysql", mariaDB(s.port, ""), "DROP DATABASE IF EXISTS "+database, "CREATE DATABASE "+database)
		},
		describe: func(p *shop.Place, s *server) { p.MariaDB = mariaDB(s.port, database) },
	}
	// A server that comes up refuses connections, which is no news.
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
	return e.started(ctx)
}

func mariaDB(port int, name string) string {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "tcp", address(port), name
	return c.FormatDSN()
}

// startPostgres starts a server with the defaults of a new cluster, which sync at every commit. In
// memory nothing waits for a sync or for the log, as those set it who keep it in memory.
func startPostgres(ctx context.Context, dir string, o Options) (Engine, error) {
	path, err := find(o, installPostgres, "postgres")
	if err != nil {
		return nil, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("find postgres: %w", err)
	}
	as, err := owner(dir)
	if err != nil {
		return nil, err
	}
	as = as[:len(as):len(as)]
	// Its initdb is in the same folder.
	err = install(ctx, dir, append(as, filepath.Join(filepath.Dir(path), "initdb"), "-D", dir, "-U", "lab", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")...)
	if err != nil {
		return nil, err
	}
	command := append(as, path, "-D", dir, "-h", "127.0.0.1", "-c", "unix_socket_directories=")
	if o.Memory {
		command = append(command, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	source := func(port int) string { return "postgres://lab@" + address(port) + "/postgres?sslmode=disable" }
	e := &servers{
		all: []*server{{
			path:   command[0],
			args:   func(port int) []string { return append(command[1:len(command):len(command)], "-p", strconv.Itoa(port)) },
			serves: func(ctx context.Context, port int) error { return do(ctx, "pgx", source(port), "SELECT 1") },
		}},
		reset: func(ctx context.Context, s *server) error {
			return do(ctx, "pgx", source(s.port), "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public; CHECKPOINT")
		},
		describe: func(p *shop.Place, s *server) { p.Postgres = source(s.port) },
	}
	return e.started(ctx)
}

// owner gives the folder to who may run the server, and is the beginning of a command that does: the
// server refuses to run as root, so its package's user has to. The kernel ends it with this process.
func owner(dir string) ([]string, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("run postgres as root: %w", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, fmt.Errorf("give folder to postgres: %w", err)
	}
	// Those above are this program's own temporary ones, which only root may pass through.
	for above := filepath.Dir(dir); above != filepath.Clean(os.TempDir()) && above != "/dev/shm" && above != "/"; above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o711); err != nil {
			return nil, fmt.Errorf("open folder to postgres: %w", err)
		}
	}
	return []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups", "--pdeathsig=KILL"}, nil
}
