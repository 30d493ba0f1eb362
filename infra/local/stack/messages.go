package stack

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/eventbus"
	"flashsale/infra/local/faults"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/sqs"
	"flashsale/infra/local/streampoller"
	"flashsale/infra/local/template"
)

func (s *Stack) queueClient() *awssqs.Client {
	return awssqs.New(awssqs.Options{
		BaseEndpoint: aws.String(s.SQS), Region: region,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     aws.NopRetryer{},
	})
}

func (s *Stack) queueURL(name string) string { return s.SQS + "/" + accountID + "/" + name }

// startQueues starts the embedded SQS with the template's queues.
func (s *Stack) startQueues(l net.Listener) error {
	c := s.given
	server := sqs.New(sqs.Disorder{Seed: c.Seed, Duplicate: c.Duplicate, Reorder: c.Reorder, Delay: c.Delay, MaxDelay: c.DelayBy})
	s.onStop(func() error { server.Close(); return nil })
	s.queues = server
	s.serve(l, server, loopback.Rules{})
	for _, q := range s.described.Queues {
		if err := server.Create(q.Name, q.Attributes); err != nil {
			return err
		}
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.EventBridge, s.EventLog = address(l), filepath.Join(s.o.Data, "events.jsonl")
	s.bus, err = eventbus.Open(eventbus.Options{
		Path: s.EventLog, Buses: s.described.Buses, Target: s.forwarded(), Log: s.o.Log,
	})
	if err != nil {
		return err
	}
	s.onStop(s.bus.Close)
	s.serve(l, s.bus, loopback.Rules{})
	return nil
}

// setBusOutage stops the event bus or lets it go on; while it goes on, it refuses the share of
// calls that the faults name.
func (s *Stack) setBusOutage(down bool, c faults.Config) {
	if s.bus != nil {
		s.bus.SetTrouble(eventbus.Trouble{Down: down, Share: c.Publish, Seed: c.Seed})
	}
}

func (s *Stack) startStreamPollers(ctx context.Context) error {
	for _, f := range s.described.Functions {
		for _, source := range f.Streams {
			arn, err := engine.Stream(ctx, engine.Client(s.engine), source.Table)
			if err != nil {
				return err
			}
			p, err := streampoller.New(streampoller.Config{
				Endpoint: s.engine, StreamARN: arn, SourceARN: "arn:aws:dynamodb:" + region + ":" + accountID + ":table/" + source.Table + "/stream/local",
				Function: f.LogicalID, Checkpoint: filepath.Join(s.o.Data, "streams", f.LogicalID+"-"+source.Table+".json"),
				BatchSize: source.BatchSize, Filters: source.Filters, Log: s.o.Log,
			}, s.functions)
			if err != nil {
				return err
			}
			s.keep(p.Run)
		}
	}
	return nil
}
