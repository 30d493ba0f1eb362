package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/local/template"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/shared/eventbus"
	"flashsale/shared/ledger"
)

// An unreachable table is reported within 30 s: system.Tries attempts of callTime with
// pauses of callPause, and reachTime for everything up to the first answer, including
// credentials.
const reachTime = 28 * time.Second

var callTime, callPause = system.CallTime, system.Pause

func retryer() aws.Retryer { return system.Retryer(callPause) }

// target is the system on which a command works: one that is found, or a table and queues on AWS alone.
type target struct {
	where    *system.Flags
	tolerant bool      // of a stack that is newer than the command, with a warning
	errors   io.Writer // where it warns

	found *system.Target   // once it is known
	asker *client.Operator // once it has asked
	db    database         // of a test, in place of the table's
}

type database interface {
	ledger.API
	books.DynamoDB
}

// find finds the system. Of a given table, it is the table and the given queues alone.
func (p *target) find(ctx context.Context) (where system.Target, err error) {
	if p.found != nil {
		return *p.found, nil
	}
	if p.where.Table != "" {
		where.Table, where.OrderDeadLetterQueue = p.where.Table, p.where.DeadLetters
		where.AWS, err = system.Config(ctx, "")
	} else {
		where, err = p.where.Find(ctx)
	}
	if errors.Is(err, system.ErrNewer) && p.tolerant {
		p.notef("%v; it is asked all the same", err)
		err = nil
	}
	if err == nil {
		p.found = &where
	}
	return where, err
}

// name names the system, to whom is asked whether it is meant.
func (p *target) name() string {
	var found system.Target
	if p.found != nil {
		found = *p.found
	}
	return p.where.Name(found)
}

// flashsale is a command line, with values from elsewhere, that works on the same system.
func (p *target) flashsale(command string, values ...string) string {
	for _, value := range values {
		command += " " + cli.Quote(value)
	}
	return "`flashsale " + command + p.where.String() + "`"
}

// open finds the system and returns the AWS configuration for one of its services, with time limits: the SDK's
// default has none. The local stack's service is at an endpoint of its own.
func (p *target) open(ctx context.Context, endpoint func(system.Target) string) (system.Target, aws.Config, error) {
	where, err := p.find(ctx)
	if err == nil && where.Table == "" {
		err = cli.Usagef("the address of an API is not enough, because its table is read: give --env, --stack or --table")
	}
	if err != nil {
		return where, aws.Config{}, err
	}
	if where.Local {
		return where, aws.Config{
			Region: template.Region, HTTPClient: awshttp.NewBuildableClient().WithTimeout(callTime), Retryer: retryer, BaseEndpoint: aws.String(endpoint(where)),
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}, nil
	}
	cfg := system.Within(where.AWS, callTime)
	cfg.Retryer = retryer
	return where, cfg, nil
}

// dynamodb opens the table; the changes apply to the client's options.
func (p *target) dynamodb(ctx context.Context, change ...func(*dynamodb.Options)) (database, string, error) {
	if p.db != nil {
		return p.db, "T", nil
	}
	where, cfg, err := p.open(ctx, func(w system.Target) string { return w.DynamoDB })
	if err != nil {
		return nil, "", err
	}
	return dynamodb.NewFromConfig(cfg, change...), where.Table, nil
}

// ledger opens the table as the functions do. It has its own retries. A command walks through pages that are garbage at
// once: collected half as often they cost a tenth less, and some megabytes.
func (p *target) ledger(ctx context.Context) (*ledger.Ledger, error) {
	db, table, err := p.dynamodb(ctx, ledger.OneAttempt)
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(200)
	return ledger.New(db, table, ledger.Options{}), nil
}

func (p *target) deadLetterQueue(ctx context.Context) (api *sqs.Client, queue string, err error) {
	where, cfg, err := p.open(ctx, func(w system.Target) string { return w.SQS })
	if err == nil && where.OrderDeadLetterQueue == "" {
		err = cli.Usagef("a table has no queues: give --dead-letter-queue, too, or --env")
	}
	if err != nil {
		return nil, "", err
	}
	return sqs.NewFromConfig(cfg), where.OrderDeadLetterQueue, nil
}

// events opens the bus of the order events: the one of that name or ARN or, if it is "", the
// system's own. It has its own retries. EventBridge accepts events for a bus that does not
// exist, and loses them. So another bus must be seen to exist, and the system's own must not be
// seen to be missing: whoever may publish to it need not be allowed to look at it.
func (p *target) events(ctx context.Context, name string) (*eventbus.Bus, string, error) {
	where, cfg, err := p.open(ctx, func(w system.Target) string { return w.EventBridge })
	if err != nil {
		return nil, "", err
	}
	own := where.EventBus
	if name = cmp.Or(name, own); name == "" {
		return nil, "", errors.New("the system publishes no events (its parameter PublishEvents); --bus names another bus")
	}
	api := eventbridge.NewFromConfig(cfg, func(o *eventbridge.Options) { o.Retryer = aws.NopRetryer{} })
	if name != own || !where.Local { // the local stack's own is there
		_, err := api.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &name})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone || err != nil && name != own {
			return nil, "", fmt.Errorf("find the bus %s: %w", name, err)
		}
	}
	return eventbus.New(api, name, rand.Float64), name, nil
}

func (p *target) system(ctx context.Context) (system.Target, error) {
	if p.found == nil && p.where.Table != "" {
		return system.Target{}, system.ErrTableAlone
	}
	where, err := p.find(ctx)
	if err == nil && where.Client == nil {
		err = system.ErrTableAlone
	}
	return where, err
}
