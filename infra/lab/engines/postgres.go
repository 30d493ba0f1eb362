package engines

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"flashsale/infra/lab/shop"
)

const installPostgres = "apt-get install -y postgresql"

// postgres is one server.
type postgres struct {
	server *server
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
	// Its initdb is in the same folder.
	made := append(as, filepath.Join(filepath.Dir(path), "initdb"), "-D", dir, "-U", "lab", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb := exec.CommandContext(ctx, made[0], made[1:]...)
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install database: %w: %s", err, out)
	}
	settings := []string{"-D", dir, "-h", "127.0.0.1", "-c", "unix_socket_directories="}
	if o.Memory {
		settings = append(settings, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	command := append(as, path)
	p := &postgres{&server{
		name: "postgres", path: command[0],
		args: func(port int) []string {
			return append(append(command[1:len(command):len(command)], settings...), "-p", strconv.Itoa(port))
		},
		serves: func(ctx context.Context, port int) error { return ask(ctx, port, "SELECT 1") },
	}}
	return p, p.server.start(ctx)
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

func source(port int) string {
	return "postgres://lab@" + address(port) + "/postgres?sslmode=disable"
}

// ask runs a statement on a connection of its own.
func ask(ctx context.Context, port int, statement string) error {
	db, err := sql.Open("pgx", source(port))
	if err != nil {
		return fmt.Errorf("configure database client: %w", err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (p *postgres) Reset(ctx context.Context) error {
	return ask(ctx, p.server.port, "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public; CHECKPOINT")
}

func (p *postgres) Describe(at *shop.Place) { at.Postgres = source(p.server.port) }

func (p *postgres) Crash() error {
	p.server.kill()
	return nil
}

// Recover waits for the killed server's own children, which end by themselves a moment after it.
func (p *postgres) Recover(ctx context.Context) (err error) {
	for limit := time.Now().Add(startLimit); time.Now().Before(limit) && ctx.Err() == nil; time.Sleep(startPoll) {
		if err = p.server.start(ctx); err == nil {
			return nil
		}
	}
	return err
}

func (p *postgres) Stop() error {
	p.server.stop()
	return nil
}
