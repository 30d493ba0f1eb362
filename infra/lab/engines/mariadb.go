package engines

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"flashsale/infra/lab/shop"
)

const (
	installMariaDB = "apt-get install -y mariadb-server"
	database       = "lab"
	logSize        = "--innodb-log-file-size=16M"
)

// mariadb is one server. MySQL's takes the same part where MariaDB is missing.
type mariadb struct {
	server *server
	dir    string
}

func startMariaDB(ctx context.Context, dir string, o Options) (Engine, error) {
	m, err := newMariaDB(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	if err := m.server.start(ctx); err != nil {
		return nil, err
	}
	if err := m.Reset(ctx); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// newMariaDB is a server that is installed and not started.
func newMariaDB(ctx context.Context, dir string, o Options) (*mariadb, error) {
	path, err := find(o, installMariaDB, "mariadbd", "mysqld")
	if err != nil {
		return nil, err
	}
	m := &mariadb{dir: dir}
	if err := m.install(ctx, path, o); err != nil {
		return nil, fmt.Errorf("install database: %w", err)
	}
	m.server = &server{name: filepath.Base(path), path: path, args: m.args, serves: func(ctx context.Context, port int) error {
		db, err := open(port, "")
		if err != nil {
			return err
		}
		defer db.Close()
		return db.PingContext(ctx)
	}}
	return m, nil
}

// install makes the system tables, with a root who has no password: nobody but
// this machine's own processes can reach the server.
func (m *mariadb) install(ctx context.Context, path string, o Options) error {
	var c *exec.Cmd
	installer, err := find(o, installMariaDB, "mariadb-install-db", "mysql_install_db")
	switch {
	case err == nil:
		c = exec.CommandContext(ctx, installer, append([]string{
			"--no-defaults", "--datadir=" + m.data(), logSize, "--auth-root-authentication-method=normal", "--skip-test-db",
		}, asRoot()...)...)
	case filepath.Base(path) == "mysqld": // MySQL's own server installs itself
		c = exec.CommandContext(ctx, path, append([]string{"--no-defaults", "--initialize-insecure", "--datadir=" + m.data(), logSize}, asRoot()...)...)
	default:
		return err
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (m *mariadb) data() string { return filepath.Join(m.dir, "data") }

// asRoot allows what the server refuses by default: to run as root, as a
// container does.
func asRoot() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// args make a small server that starts quickly and keeps the durability of the
// defaults: every commit is in the log on disk before it is answered.
func (m *mariadb) args(port int) []string {
	return append([]string{
		"--no-defaults", "--datadir=" + m.data(), "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port),
		// Relative to the data: a socket whose path is long cannot be opened.
		"--socket=s.sock", "--pid-file=pid",
		"--skip-log-bin", "--skip-name-resolve", "--max-connections=400",
		"--innodb-buffer-pool-size=32M", logSize, "--innodb-flush-log-at-trx-commit=1",
		"--performance-schema=OFF",
		// What MySQL and MariaDB before 11.6 do: a transaction may write a row
		// that has changed since its snapshot.
		"--loose-innodb-snapshot-isolation=OFF",
	}, asRoot()...)
}

func config(port int, name string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "tcp", address(port), name
	// A server that comes up refuses connections, which is no news.
	c.Logger = log.New(io.Discard, "", 0)
	return c
}

func open(port int, name string) (*sql.DB, error) {
	connector, err := mysql.NewConnector(config(port, name))
	if err != nil {
		return nil, fmt.Errorf("configure database client: %w", err)
	}
	return sql.OpenDB(connector), nil
}

func (m *mariadb) Reset(ctx context.Context) error {
	return m.do(ctx, "DROP DATABASE IF EXISTS "+database, "CREATE DATABASE "+database)
}

// do runs statements, one after the other.
func (m *mariadb) do(ctx context.Context, statements ...string) error {
	db, err := open(m.server.port, "")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (m *mariadb) Describe(p *shop.Place) {
	p.MariaDB = config(m.server.port, database).FormatDSN()
}

func (m *mariadb) Crash() error {
	m.server.kill()
	return nil
}

func (m *mariadb) Recover(ctx context.Context) error { return m.server.start(ctx) }

func (m *mariadb) Stop() error {
	m.server.stop()
	return nil
}
