package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/client"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/stack"
)

// through is a whole local stack, used over HTTP.
type through struct {
	o      options
	stack  *stack.Stack
	client *client.Client
	users  []string
	tokens []string
	made   int
	// drained makes each measurement wait for an empty queue first.
	drained bool
}

func (t *through) fetchTokens(ctx context.Context) (err error) {
	t.tokens, err = t.client.Tokens(ctx, t.users, func() {})
	return err
}

// prepare makes the sales of a measurement.
func (t *through) prepare(ctx context.Context) (*purchases, error) {
	p := &purchases{users: t.users}
	for range salesPerRound {
		t.made++
		c := newSale(fmt.Sprintf("stack-%d", t.made), len(t.users))
		if err := t.client.Seed(ctx, client.Sale{
			ID: c.SaleID, Name: c.Name, Stock: int(c.Stock), Shards: c.Shards, OpensAt: c.OpensAt, ClosesAt: c.ClosesAt,
		}); err != nil {
			return nil, err
		}
		p.sales = append(p.sales, c.SaleID)
	}
	return p, nil
}

// sell measures purchases over HTTP. The number of finalized orders is the number accepted
// less those left in the queue at the end.
func (t *through) sell(ctx context.Context, d time.Duration) (rates, error) {
	p, err := t.prepare(ctx)
	if err != nil {
		return rates{}, err
	}
	if t.drained {
		if err := t.drain(ctx); err != nil {
			return rates{}, err
		}
	}
	host := strings.TrimPrefix(t.stack.API, "http://")
	w, err := dial(ctx, host, t.o.callers)
	if err != nil {
		return rates{}, err
	}
	defer w.close()
	got, err := crowd(ctx, t.o.callers, d, p, func(_ context.Context, s, u int) error {
		request := "POST /sales/" + p.sales[s] + "/orders HTTP/1.1\r\nHost: " + host +
			"\r\nAuthorization: Bearer " + t.tokens[u] + "\r\nContent-Length: 0\r\n\r\n"
		return w.send([]byte(request), http.StatusAccepted)
	})
	if err != nil || !t.drained {
		return got.rates(0), err
	}
	left, err := t.queued(ctx)
	return got.rates(got.orders - left), err
}

// queued counts the messages that are waiting or being processed.
func (t *through) queued(ctx context.Context) (int, error) {
	queues := sqs.New(sqs.Options{
		BaseEndpoint: aws.String(t.stack.SQS), Region: engine.Region, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	waiting, running := types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(t.stack.SQS + "/000000000000/OrderQueue"), AttributeNames: []types.QueueAttributeName{waiting, running},
	})
	if err != nil {
		return 0, fmt.Errorf("read queue attributes: %w", err)
	}
	sum := 0
	for _, name := range []types.QueueAttributeName{waiting, running} {
		n, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("read queue attributes: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// drain waits until the queue is empty.
func (t *through) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := t.queued(ctx)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for an empty queue: %w", ctx.Err())
		}
	}
}
