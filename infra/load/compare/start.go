package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/stack"
	"flashsale/infra/local/template"
)

// start starts an engine for the raw side and three stacks: two leave their
// messages in the queue, and one of these has a bare function. stop ends what was started, also after an error.
func start(ctx context.Context, o options, dir string, out io.Writer) (sides []*side, stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for i := len(stops) - 1; i >= 0; i-- {
			errs = append(errs, stops[i]())
		}
		return errors.Join(errs...)
	}
	users := make([]string, o.users)
	for i := range users {
		users[i] = fmt.Sprintf("buyer-%05d", i)
	}

	e, err := engine.Start(ctx, engine.Options{Binary: engine.BinaryUnder(o.root), DBPath: filepath.Join(dir, "raw.sqlite")})
	if err != nil {
		return nil, stop, fmt.Errorf("start engine (make host installs it): %w", err)
	}
	stops = append(stops, e.Stop)
	described, err := template.Load(filepath.Join(o.root, "template.yaml"), template.Options{
		Region: engine.Region, AccountID: "000000000000",
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1", "JwtAudience": "none"},
		QueueURL:   func(name string) string { return "http://127.0.0.1/" + name },
	})
	if err != nil {
		return nil, stop, err
	}
	r := &raw{o: o, address: strings.TrimPrefix(e.Endpoint(), "http://"), client: engine.Client(e.Endpoint()), users: users}
	for _, table := range described.Tables {
		if err := engine.EnsureTable(ctx, r.client, table); err != nil {
			return nil, stop, err
		}
		r.table = table.Name
	}

	bareRoot := filepath.Join(dir, "bare")
	if err := overlay(o.root, bareRoot, filepath.Join(".build", "host", "PurchaseFunction", "bootstrap"), o.bare); err != nil {
		return nil, stop, err
	}
	stacks := make([]*through, 3)
	for i, root := range []string{o.root, o.root, bareRoot} {
		idle := i != 1
		s, err := stack.Start(ctx, stack.Options{
			Root: root, Data: filepath.Join(dir, fmt.Sprintf("stack-%d", i)), Processes: o.processes, NoPollers: idle,
		})
		if err != nil {
			return nil, stop, fmt.Errorf("start stack: %w", err)
		}
		stops = append(stops, s.Stop)
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
		stops = append(stops, func() error { client.CloseIdleConnections(); return nil })
		stacks[i] = &through{o: o, stack: s, http: client, users: users, drained: !idle}
		if err := stacks[i].fetchTokens(ctx); err != nil {
			return nil, stop, err
		}
	}
	fmt.Fprintf(out, "%d callers, %d rounds of %v, %d processors, Go %s\n\n", o.callers, o.rounds, o.round, runtime.NumCPU(), runtime.Version())
	return []*side{
		{name: "raw transactions", sell: r.accept},
		{name: "stack, finalize idle", sell: stacks[0].sell},
		{name: "stack, bare function", sell: stacks[2].sell},
		{name: "raw with finalize", sell: r.both},
		{name: "stack with finalize", sell: stacks[1].sell},
	}, stop, nil
}

// overlay makes a folder that shows another one, with one file in place of another.
func overlay(of, folder, path, file string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	name, rest, deeper := strings.Cut(path, string(filepath.Separator))
	all, err := os.ReadDir(of)
	if err != nil {
		return fmt.Errorf("read folder: %w", err)
	}
	for _, one := range all {
		from, to := filepath.Join(of, one.Name()), filepath.Join(folder, one.Name())
		switch {
		case one.Name() == name && deeper:
			err = overlay(from, to, rest, file)
		case one.Name() == name:
			err = copyProgram(file, to)
		default:
			err = link(from, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyProgram copies, so that a process of it is known by where it lies.
func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("copy program: %w", err)
	}
	return os.WriteFile(to, text, 0o755)
}

func link(from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return fmt.Errorf("link file: %w", err)
	}
	return os.Symlink(from, to)
}
