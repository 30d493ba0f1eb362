package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/local/engine"
	system "flashsale/infra/ops/place"
	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
)

// An unreachable table is reported within 30 s: callTries attempts of callTime with
// pauses of at most callPause, and reachTime for everything up to the first answer,
// including credentials.
const (
	callTries = 3
	reachTime = 28 * time.Second
)

var (
	callTime  = 8 * time.Second
	callPause = 2 * time.Second
)

func retryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = callTries, callPause })
}

// place selects the system: the local stack, the stack of an environment, or the given
// resources of an AWS account.
type place struct {
	apiPort     int
	env         string // in the configuration file
	config      string // path of that file
	region      string // of the stack; empty: from the environment
	table       string
	queue       string
	deadLetters string
	bus         string
	stack       *system.Place // of env
	lost        error         // the error if env has no stack
}

// deployed finds the stack of the environment, its table and its queues.
func (p *place) deployed(ctx context.Context) error {
	e, err := samconfig.Read(p.config, p.env)
	if err != nil {
		return err
	}
	found, err := system.Find(ctx, system.Wanted{Stack: e.StackName, Region: e.Region})
	if err != nil {
		return err
	}
	p.stack, p.region = &found, e.Region
	p.table, p.queue, p.deadLetters, p.bus = found.Table, found.OrderQueue, found.OrderDeadLetterQueue, found.EventBus
	return nil
}

// account returns the AWS configuration of the place, with time limits: the SDK's default
// has none.
func (p place) account(ctx context.Context) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTimeout(callTime)
	if p.table == "" {
		return aws.Config{
			Region: engine.Region, HTTPClient: client, Retryer: retryer,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.region), config.WithHTTPClient(client), config.WithRetryer(retryer))
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %s", oneLine(err))
	}
	return cfg, nil
}

// dynamodb opens the table; the changes apply to the client's options.
func (p place) dynamodb(ctx context.Context, change ...func(*dynamodb.Options)) (*dynamodb.Client, string, error) {
	cfg, err := p.account(ctx)
	if err != nil {
		return nil, "", err
	}
	if p.table != "" {
		return dynamodb.NewFromConfig(cfg, change...), p.table, nil
	}
	where, err := p.local(ctx)
	if err != nil {
		return nil, "", err
	}
	cfg.BaseEndpoint = &where.DynamoDB
	return dynamodb.NewFromConfig(cfg, change...), where.Table, nil
}

// ledger opens the table as the functions do. It has its own retries.
func (p place) ledger(ctx context.Context) (*ledger.Ledger, error) {
	db, table, err := p.dynamodb(ctx, ledger.OneAttempt)
	if err != nil {
		return nil, err
	}
	return ledger.New(db, table, ledger.Options{}), nil
}

// queues opens the order queue and its dead-letter queue.
func (p place) queues(ctx context.Context) (api *sqs.Client, source, deadLetters string, err error) {
	cfg, err := p.account(ctx)
	if err != nil {
		return nil, "", "", err
	}
	if p.table != "" {
		if p.queue == "" || p.deadLetters == "" {
			return nil, "", "", errors.New("give the queues (QUEUE=… DLQ=…) or the environment (ENV=dev)")
		}
		return sqs.NewFromConfig(cfg), p.queue, p.deadLetters, nil
	}
	where, err := p.local(ctx)
	if err != nil {
		return nil, "", "", err
	}
	cfg.BaseEndpoint = &where.SQS
	return sqs.NewFromConfig(cfg), where.OrderQueue, where.OrderDeadLetterQueue, nil
}

// events opens the bus of the order events: the one of that name or ARN or, if it is "", the
// system's own. It has its own retries. EventBridge accepts events for a bus that does not
// exist, and loses them. So another bus must be seen to exist, and the system's own must not be
// seen to be missing: whoever may publish to it need not be allowed to look at it.
func (p place) events(ctx context.Context, name string) (*eventbus.Bus, string, error) {
	cfg, err := p.account(ctx)
	if err != nil {
		return nil, "", err
	}
	own := p.bus
	if p.table == "" {
		where, err := p.local(ctx)
		if err != nil {
			return nil, "", err
		}
		cfg.BaseEndpoint, own = &where.EventBridge, where.EventBus
	}
	if name = cmp.Or(name, own); name == "" {
		return nil, "", errors.New("the system publishes no events (its parameter PublishEvents); BUS=… names another bus")
	}
	client := eventbridge.NewFromConfig(cfg, func(o *eventbridge.Options) { o.Retryer = aws.NopRetryer{} })
	if name != own || p.table != "" { // the local stack's own is there
		_, err := client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &name})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone || err != nil && name != own {
			return nil, "", fmt.Errorf("find the bus %s: %s", name, oneLine(err))
		}
	}
	return eventbus.New(client, name, rand.Float64), name, nil
}

// system returns the system whose functions can be called.
func (p place) system(ctx context.Context) (system.Place, error) {
	if p.lost != nil {
		return system.Place{}, p.lost
	}
	if p.stack != nil {
		return *p.stack, nil
	}
	if p.table != "" {
		return system.Place{}, errors.New("a table alone is not enough, because a function is asked: give its environment (ENV=dev)")
	}
	return system.Find(ctx, system.Wanted{URL: p.localAPI()})
}

func (p place) localAPI() string { return fmt.Sprintf("http://127.0.0.1:%d", p.apiPort) }

// local is the stack on this machine.
func (p place) local(ctx context.Context) (client.System, error) {
	if p.lost != nil {
		return client.System{}, p.lost
	}
	found, err := client.Find(ctx, p.localAPI(), client.Options{})
	if err != nil {
		err = fmt.Errorf("%w; for AWS give the environment (ENV) or the table (TABLE)", err)
	}
	return found, err
}
