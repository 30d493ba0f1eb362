package telemetry

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// calls is the time that the AWS calls of one event took. It travels in the
// event's context, from where any number of goroutines add to it.
type calls struct {
	dynamodb, sqs atomic.Int64 // nanoseconds
	whole         *calls       // of the event that this one is a part of, or nil
}

type callsKey struct{}

func (c *calls) add(service string, took time.Duration) {
	for ; c != nil; c = c.whole {
		switch service {
		case "DynamoDB":
			c.dynamodb.Add(int64(took))
		case "SQS":
			c.sqs.Add(int64(took))
		}
	}
}

// Watch returns cfg with a stopwatch for the clients that are made of it: the time
// of each call, from the client's caller and back, is added to the event in whose
// context it is made. Calls that run side by side are added up, so their sum may
// be longer than the event.
func Watch(cfg aws.Config) aws.Config {
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(stack *middleware.Stack) error {
		return stack.Initialize.Add(stopwatch{}, middleware.After) // the service is known by then
	})
	return cfg
}

type stopwatch struct{}

// ID implements middleware.InitializeMiddleware.
func (stopwatch) ID() string { return "flashsale:stopwatch" }

// HandleInitialize implements middleware.InitializeMiddleware.
func (stopwatch) HandleInitialize(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	c, ok := ctx.Value(callsKey{}).(*calls)
	if !ok {
		return next.HandleInitialize(ctx, in)
	}
	began := time.Now()
	defer func() { c.add(awsmiddleware.GetServiceID(ctx), time.Since(began)) }()
	return next.HandleInitialize(ctx, in)
}
