package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/stack"
)

// through is a whole local stack, seen from outside.
type through struct {
	o      options
	stack  *stack.Stack
	http   *http.Client
	users  []string
	tokens []string
	made   int
	// drained says whether the queue must be empty before a measurement.
	drained bool
}

func (t *through) fetchTokens(ctx context.Context) error {
	t.tokens = make([]string, len(t.users))
	failures := make(chan error, len(t.users))
	slots := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for i, user := range t.users {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			body, err := t.call(ctx, http.MethodGet, t.stack.API+"/_local/token?sub="+url.QueryEscape(user), "", nil, http.StatusOK)
			if err != nil {
				failures <- fmt.Errorf("get token: %w", err)
			}
			t.tokens[i] = "Bearer " + string(body)
		})
	}
	wg.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return ctx.Err()
	}
}

// call makes one request and insists on a status.
func (t *through) call(ctx context.Context, method, address, token string, body []byte, want int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if token != "" {
		request.Header["Authorization"] = []string{token}
	}
	response, err := t.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != want || response.Header.Get("X-Amz-Function-Error") != "" {
		return nil, fmt.Errorf("%s answered %d %.200q", address, response.StatusCode, answer)
	}
	return answer, nil
}

// prepare makes the sales of a measurement.
func (t *through) prepare(ctx context.Context) (*purchases, error) {
	p := &purchases{users: t.users}
	for range salesPerRound {
		t.made++
		c := newSale(fmt.Sprintf("stack-%d", t.made), len(t.users))
		body, err := json.Marshal(map[string]any{
			"action": "create", "saleId": c.SaleID, "name": c.Name, "stock": c.Stock, "shards": c.Shards,
			"opensAt": c.OpensAt.UTC().Format(time.RFC3339), "closesAt": c.ClosesAt.UTC().Format(time.RFC3339),
		})
		if err != nil {
			return nil, fmt.Errorf("make sale: %w", err)
		}
		if _, err := t.call(ctx, http.MethodPost, t.stack.Lambda+"/2015-03-31/functions/SeedFunction/invocations", "", body, http.StatusOK); err != nil {
			return nil, fmt.Errorf("make sale: %w", err)
		}
		p.sales = append(p.sales, c.SaleID)
	}
	return p, nil
}

// sell measures purchases over HTTP; what is finalized meanwhile is what was
// accepted and is no longer in the queue at the end.
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
			"\r\nAuthorization: " + t.tokens[u] + "\r\nContent-Length: 0\r\n\r\n"
		return w.send([]byte(request), http.StatusAccepted)
	})
	if err != nil || !t.drained {
		return got.rates(0), err
	}
	left, err := t.queued(ctx)
	return got.rates(got.orders - left), err
}

// queued is how many messages wait or are being worked on.
func (t *through) queued(ctx context.Context) (int, error) {
	client := sqs.New(sqs.Options{
		BaseEndpoint: aws.String(t.stack.SQS), Region: engine.Region, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	waiting, running := types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(t.stack.SQS + "/000000000000/OrderQueue"), AttributeNames: []types.QueueAttributeName{waiting, running},
	})
	if err != nil {
		return 0, fmt.Errorf("look at queue: %w", err)
	}
	sum := 0
	for _, name := range []types.QueueAttributeName{waiting, running} {
		n, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("look at queue: %w", err)
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
