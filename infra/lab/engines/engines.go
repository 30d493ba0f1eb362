// Package engines runs the real servers that strategies store their sales in:
// Redis, MariaDB and PostgreSQL from the system's packages, and dynoxide. Each listens on a free port of 127.0.0.1, keeps its data in a folder of
// its own, can be killed and started again, and is stopped by its process id.
//
// It contains nothing of the strategies and installs nothing: a missing program
// is an error that names the command to install it.
package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"flashsale/infra/lab/shop"
)

// Engine is a running server, or several that are used together.
type Engine interface {
	// Reset forgets everything that was stored.
	Reset(ctx context.Context) error
	// Describe writes into the place how to reach the engine.
	Describe(p *shop.Place)
	// Ail begins what goes before Crash, while the engine still serves, and
	// tells how long that lasts: 0 if a crash does not announce itself.
	Ail() time.Duration
	// Crash kills it (of several, the first) as kill -9 does.
	Crash()
	// Recover starts it again on the same port with the data it had, or lets
	// its replica take its place. It returns once the engine serves.
	Recover(ctx context.Context) error
	// Stop ends it and waits for it. How an engine ends whose data is thrown away does not matter.
	Stop()
}

type MissingError struct {
	Program string
	Install string // the command that installs it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed: %s", e.Program, e.Install)
}

type Options struct {
	Dir string
	// Root is the project's folder, for dynoxide.
	Root string
	// Path is searched for programs before the system's own folders; "" takes
	// $PATH. It exists so that a missing engine can be shown.
	Path string
	// Memory says that Dir is memory and that nothing has to outlive a crash: an engine that can
	// saves itself the work of syncing.
	Memory bool
}

// Pool starts each engine when it is first needed and keeps it.
type Pool struct {
	options Options
	running map[shop.Need]Engine
	failed  map[shop.Need]error
}

func NewPool(o Options) *Pool {
	return &Pool{options: o, running: map[shop.Need]Engine{}, failed: map[shop.Need]error{}}
}

// Get returns the engines of the needs, empty. What failed to start fails again with the same
// error, a *MissingError if it is not installed.
func (p *Pool) Get(ctx context.Context, needs []shop.Need) (all []Engine, err error) {
	for _, need := range needs {
		e := p.running[need]
		if err := p.failed[need]; err != nil {
			return nil, err
		}
		if e == nil {
			if e, err = start(ctx, need, p.options); err != nil {
				if ctx.Err() == nil {
					p.failed[need] = err
				}
				return nil, err
			}
			p.running[need] = e
		}
		if err := e.Reset(ctx); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (p *Pool) Stop() {
	var stops sync.WaitGroup
	for _, e := range p.running {
		stops.Go(e.Stop)
	}
	stops.Wait()
}

// start starts the engine of a need. Its error is a *MissingError if a program
// is not installed.
func start(ctx context.Context, need shop.Need, o Options) (Engine, error) {
	dir, err := os.MkdirTemp(o.Dir, string(need)+"-")
	if err != nil {
		return nil, fmt.Errorf("make folder for %s: %w", need, err)
	}
	var e Engine
	switch need {
	case shop.Redis:
		e, err = startRedis(ctx, dir, o, 1, snapshots, 0)
	case shop.RedisAlways:
		sync := always
		if o.Memory {
			sync = snapshots
		}
		e, err = startRedis(ctx, dir, o, 1, sync, 0)
	case shop.RedisTrio:
		e, err = startRedis(ctx, dir, o, 3, always, shop.LockTTL)
	case shop.RedisPair:
		e, err = startPair(ctx, dir, o)
	case shop.MariaDB:
		e, err = startMariaDB(ctx, dir, o)
	case shop.Postgres:
		e, err = startPostgres(ctx, dir, o)
	case shop.DynamoDB:
		e, err = startDynamo(ctx, dir, o)
	default:
		err = fmt.Errorf("start engine: nothing is known of %q", need)
	}
	return e, err
}

// find is the path of the first program that is installed. Debian keeps servers
// in folders that are not on every user's path.
func find(o Options, install string, programs ...string) (string, error) {
	folders := append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/libexec", "/usr/local/bin", "/usr/bin")
	if versions, err := filepath.Glob("/usr/lib/postgresql/*/bin"); err == nil {
		folders = append(folders, versions...)
	}
	if o.Path != "" {
		folders = strings.Split(o.Path, string(os.PathListSeparator))
	}
	for _, program := range programs {
		for _, folder := range folders {
			if path, err := exec.LookPath(folder + "/" + program); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{Program: programs[0], Install: install}
}

// await polls until ask succeeds, the process ends or the limit is reached.
func await(ctx context.Context, ended <-chan struct{}, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("ended before it answered: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("wait for an answer: %w", errors.Join(ctx.Err(), err))
		case <-time.After(startPoll):
		}
	}
}
