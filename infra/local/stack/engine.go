package stack

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/faults"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/template"
)

// startEngine starts the DynamoDB engine, unless another one is configured, and creates
// the template's tables in it. An engine that dies is restarted on the same file.
//
// The stack's own engine answers every web page, so it listens where browsers do not connect
// to, and the DynamoDB port is a proxy to it that package loopback protects. The stack and its functions call the
// engine itself.
func (s *Stack) startEngine(ctx context.Context, l net.Listener) error {
	s.engine, s.DynamoDB = s.o.DynamoDBEndpoint, s.o.DynamoDBEndpoint
	if s.engine == "" {
		s.Forgot = HasTable(s.o.Data)
		if err := s.indexStreams(ctx); err != nil {
			return err
		}
		e, err := s.launchEngine(ctx)
		if err != nil {
			return err
		}
		s.engine, s.DynamoDB = e.Endpoint(), address(l)
		s.crash = make(chan struct{}, 1)
		s.keepEngine(e)
	}
	s.openTransport()
	if s.engine != s.DynamoDB {
		target, err := url.Parse(s.engine)
		if err != nil {
			return fmt.Errorf("read engine endpoint: %w", err)
		}
		s.serve(l, faults.Proxy(target, s.base), loopback.Rules{})
	}
	client := engine.Client(s.engine)
	for _, table := range s.described.Tables {
		if err := engine.EnsureTable(ctx, client, table); err != nil {
			return err
		}
		s.Table = table.Name
	}
	return nil
}

func (s *Stack) launchEngine(ctx context.Context) (*engine.Engine, error) {
	return engine.Start(ctx, engine.Options{Binary: engine.BinaryUnder(s.o.Root), Sheltered: true, DBPath: s.database()})
}

func (s *Stack) database() string { return database(s.o.Data) }

func database(data string) string { return filepath.Join(data, "dynamodb.sqlite") }

// relaunchEngine restarts the engine. The cause of its death may also kill the new one
// while it starts, so a few starts may fail in a row.
func (s *Stack) relaunchEngine(e *engine.Engine) (err error) {
	for range relaunches {
		if err = e.Again(context.Background()); err == nil {
			break
		}
		s.o.Log.Warn("the DynamoDB engine did not start", "error", err)
		time.Sleep(relaunchPause)
	}
	return err
}

func (s *Stack) keepEngine(e *engine.Engine) {
	// The engine must outlive everything that uses it, so its own closer ends it, not
	// s.background.
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- e.Stop()
				return
			case <-s.crash:
				e.Kill()
			case <-e.Done():
			}
			s.o.Log.Warn("the DynamoDB engine ended; starting it again")
			if err := s.relaunchEngine(e); err != nil {
				s.fail(err)
				<-stop
				stopped <- nil
				return
			}
		}
	}()
	s.onStop(func() error { close(stop); return <-stopped })
}

// indexStreams prepares the engine's file for tables with streams.
func (s *Stack) indexStreams(ctx context.Context) error {
	if !slices.ContainsFunc(s.described.Tables, func(t template.Table) bool { return t.StreamView != "" }) {
		return nil
	}
	if !s.Forgot {
		e, err := s.launchEngine(ctx)
		if err != nil {
			return err
		}
		if err := e.Stop(); err != nil {
			return err
		}
	}
	return engine.IndexStreams(ctx, s.o.Root, s.database())
}
