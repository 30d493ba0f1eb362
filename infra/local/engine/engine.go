package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/local/child"
)

// ErrPortTaken: another process listens on the requested port.
var ErrPortTaken = errors.New("port is taken")

const (
	startLimit = 10 * time.Second
	stopLimit  = 5 * time.Second
	startTries = 3
)

// Options says what to start.
type Options struct {
	// Binary is the program's path.
	Binary string
	// Port is where it listens on 127.0.0.1; 0 takes a free one.
	Port int
	// Sheltered makes it listen where no browser connects to, instead of at Port: the program
	// answers every web page.
	Sheltered bool
	// DBPath is its database file; empty keeps everything in memory.
	DBPath string
	// Log receives the program's output, a line per Write; nil discards it.
	Log io.Writer
}

// Engine is a running program.
type Engine struct {
	options Options
	place   place
	process *child.Process
}

// StreamfileUnder returns where `make host` puts the program that maintains the streams in the
// engine's file.
func StreamfileUnder(root string) string {
	return filepath.Join(root, ".build", "engine", "streamfile")
}

// BinaryUnder returns where `make engine` puts the program for this machine
// below the module's root.
func BinaryUnder(root string) string {
	// The package uses Node's names for systems and processors.
	system := map[string]string{"windows": "win32"}[runtime.GOOS]
	if system == "" {
		system = runtime.GOOS
	}
	cpu := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if cpu == "" {
		cpu = runtime.GOARCH
	}
	name := "dynoxide"
	if system == "win32" {
		name += ".exe"
	}
	return filepath.Join(root, ".build", "engine", "node_modules", "@dynoxide", system+"-"+cpu, name)
}

// Start starts the program and returns once it answers. ctx bounds the start only; the
// engine runs until Stop, or until this process dies. The error is ErrPortTaken if Port
// is in use.
func Start(ctx context.Context, o Options) (*Engine, error) {
	for try := 1; ; try++ {
		e, err := startOnce(ctx, o)
		// A free port may be taken by the time the program listens.
		if err == nil || o.Port != 0 || try == startTries || ctx.Err() != nil {
			return e, err
		}
	}
}

func startOnce(ctx context.Context, o Options) (*Engine, error) {
	take := func() (place, error) { return freePort(o.Port) }
	if o.Sheltered {
		take = shelter
	}
	at, err := take()
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e, err := launch(ctx, o, at)
	if err != nil {
		at.leave()
	}
	return e, err
}

// Again starts the program again after its end, at the same place and on the same file.
func (e *Engine) Again(ctx context.Context) (*Engine, error) { return launch(ctx, e.options, e.place) }

func launch(ctx context.Context, o Options, at place) (*Engine, error) {
	args := []string{"--host", at.host, "--port", strconv.Itoa(at.port)}
	if o.DBPath != "" {
		args = append(args, "--db-path", o.DBPath)
	}
	process, err := child.Start(child.Command{Path: o.Binary, Args: args, Output: o.Log})
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	e := &Engine{options: o, place: at, process: process}
	if err := e.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start engine: %w", err), e.end())
	}
	return e, nil
}

func (e *Engine) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	client := Client(e.Endpoint())
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
		if err == nil {
			return nil
		}
		select {
		case <-e.Done():
			return fmt.Errorf("ended before it answered: %w", errors.Join(err, e.process.Wait()))
		case <-ctx.Done():
			return fmt.Errorf("wait for an answer: %w", errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// Endpoint returns the engine's URL.
func (e *Engine) Endpoint() string {
	return "http://" + net.JoinHostPort(e.place.host, strconv.Itoa(e.place.port))
}

// Done is closed when the process has ended, whatever the reason.
func (e *Engine) Done() <-chan struct{} { return e.process.Done() }

// Kill ends the process at once, as a crash would, and waits for it. Acknowledged
// writes are on disk, so a killed engine with a DBPath loses nothing.
func (e *Engine) Kill() {
	e.process.Kill()
	<-e.Done()
}

// Stop ends the process and waits for it. It returns an error if the process did not
// end well; stopping an engine that has ended does nothing.
func (e *Engine) Stop() error {
	defer e.place.leave()
	return e.end()
}

func (e *Engine) end() error {
	select {
	case <-e.Done():
		return nil
	default:
	}
	err := e.process.Stop(stopLimit)
	// The program answers before it handles signals. What it has answered is on disk.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop engine: %w", err)
	}
	return nil
}
