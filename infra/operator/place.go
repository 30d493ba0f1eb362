package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/client"
	system "flashsale/infra/client/place"
	"flashsale/infra/deploy/samconfig"
	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
)

// place says which system is meant: the local stack, the stack of an environment, or
// the named resources of an AWS account.
type place struct {
	apiPort     int
	env         string // in the configuration file
	config      string // that file's path
	region      string // of the stack; empty: the environment's
	table       string
	queue       string
	deadLetters string
	stack       *system.Place // of env
	lost        error         // why env has no stack
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
	p.table, p.queue, p.deadLetters = found.Table, found.OrderQueue, found.OrderDeadLetterQueue
	return nil
}

// ledger opens the table.
func (p place) ledger(ctx context.Context) (*ledger.Ledger, error) {
	if p.table == "" {
		where, err := p.local(ctx)
		if err != nil {
			return nil, err
		}
		return ledger.New(engine.Client(where.DynamoDB), where.Table, ledger.Options{}), nil
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.region))
	if err != nil {
		return nil, fmt.Errorf("load AWS configuration: %w", err)
	}
	return ledger.New(dynamodb.NewFromConfig(cfg, ledger.OneAttempt), p.table, ledger.Options{}), nil
}

// queues opens the order queue and its dead-letter queue.
func (p place) queues(ctx context.Context) (api *sqs.Client, source, deadLetters string, err error) {
	if p.table == "" {
		where, err := p.local(ctx)
		if err != nil {
			return nil, "", "", err
		}
		api := sqs.New(sqs.Options{
			BaseEndpoint: aws.String(where.SQS), Region: engine.Region,
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		})
		return api, where.OrderQueue, where.OrderDeadLetterQueue, nil
	}
	if p.queue == "" || p.deadLetters == "" {
		return nil, "", "", errors.New("name the queues (QUEUE=… DLQ=…), or the environment (ENV=dev)")
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.region))
	if err != nil {
		return nil, "", "", fmt.Errorf("load AWS configuration: %w", err)
	}
	return sqs.NewFromConfig(cfg), p.queue, p.deadLetters, nil
}

// system is where SeedFunction can be asked.
func (p place) system(ctx context.Context) (system.Place, error) {
	if p.lost != nil {
		return system.Place{}, p.lost
	}
	if p.stack != nil {
		return *p.stack, nil
	}
	if p.table != "" {
		return system.Place{}, errors.New("a table alone cannot be asked for an edit: name its environment (ENV=dev)")
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
		err = fmt.Errorf("%w; for AWS name the environment or the table", err)
	}
	return found, err
}
