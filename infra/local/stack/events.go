package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/eventbus"
	"flashsale/infra/local/guard"
	"flashsale/infra/local/streampoller"
	"flashsale/infra/local/template"
)

// maintainStreams prepares the engine's file for tables with streams. The engine itself creates
// a new one.
func (s *Stack) maintainStreams(ctx context.Context) error {
	if !slices.ContainsFunc(s.described.Tables, func(t template.Table) bool { return t.StreamView != "" }) {
		return nil
	}
	if _, err := os.Stat(s.database()); errors.Is(err, fs.ErrNotExist) {
		e, err := s.launchEngine(ctx)
		if err != nil {
			return err
		}
		if err := e.Stop(); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, engine.StreamfileUnder(s.o.Root), s.database()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("maintain streams: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// startEventBus starts EventBridge, unless the template has neither a bus nor a function that
// reads a stream.
func (s *Stack) startEventBus() error {
	streams := slices.ContainsFunc(s.described.Functions, func(f template.Function) bool { return len(f.Streams) > 0 })
	if len(s.described.Buses) == 0 && !streams {
		return nil
	}
	var names []string
	for _, b := range s.described.Buses {
		names = append(names, b.Name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.EventBridge, s.EventLog = address(l), filepath.Join(s.o.Data, "events.jsonl")
	s.bus, err = eventbus.Open(eventbus.Options{Path: s.EventLog, Buses: names, AccountID: accountID, Region: region, Log: s.o.Log})
	if err != nil {
		return err
	}
	s.onStop(s.bus.Close)
	s.serve(l, s.bus, guard.Rules{})
	return nil
}

// startStreamPollers connects tables' streams to functions.
func (s *Stack) startStreamPollers(ctx context.Context) error {
	if s.o.NoPollers {
		return nil
	}
	names := map[string]string{}
	for _, t := range s.described.Tables {
		names[t.LogicalID] = t.Name
	}
	for _, f := range s.described.Functions {
		for _, source := range f.Streams {
			if !source.Enabled {
				continue
			}
			table := names[source.Table]
			arn, err := engine.Stream(ctx, engine.Client(s.engine), table)
			if err != nil {
				return err
			}
			p, err := streampoller.New(streampoller.Config{
				StreamARN: arn, SourceARN: "arn:aws:dynamodb:" + region + ":" + accountID + ":table/" + table + "/stream/local",
				Function: f.LogicalID, Region: region, Checkpoint: filepath.Join(s.o.Data, "streams", f.LogicalID+"-"+source.Table+".json"),
				BatchSize: source.BatchSize, Window: source.Window, Parallel: source.Parallel,
				ReportBatchItemFailures: source.ReportBatchItemFailures, Filters: source.Filters, Log: s.o.Log,
			}, engine.StreamsClient(s.engine), s.functions)
			if err != nil {
				return err
			}
			s.keep(p.Run)
		}
	}
	return nil
}
