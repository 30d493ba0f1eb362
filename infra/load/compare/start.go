package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"flashsale/infra/client"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/stack"
	"flashsale/infra/local/template"
)

// start starts an engine for the raw side and three stacks: two of them do not finalize, and
// one of these two has a bare function. stop stops everything that was started, also after an
// error.
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

	bare := map[string]string{"PurchaseFunction": o.bare}
	stacks := make([]*through, 3)
	for i, programs := range []map[string]string{nil, nil, bare} {
		idle := i != 1
		s, err := stack.Start(ctx, stack.Options{
			Root: o.root, Data: filepath.Join(dir, fmt.Sprintf("stack-%d", i)), Programs: programs,
			Processes: o.processes, NoPollers: idle, Parameters: map[string]string{"PublishEvents": "false"}, // as in the raw engine
		})
		if err != nil {
			return nil, stop, fmt.Errorf("start stack: %w", err)
		}
		stops = append(stops, s.Stop)
		c := client.New(s.API, client.Options{Lambda: s.Lambda})
		stops = append(stops, func() error { c.Close(); return nil })
		stacks[i] = &through{o: o, stack: s, client: c, users: users, drained: !idle}
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
