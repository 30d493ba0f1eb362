package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/books"
	"flashsale/infra/ops/awscli"
)

// Account looks at an AWS account and at issuers.
type Account struct {
	CLI      awscli.CLI
	DynamoDB interface {
		books.DynamoDB
		DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	}
	HTTP *http.Client
}

// Limits is Lookup.Limits.
func (a Account) Limits(ctx context.Context, stack string) (l Limits, err error) {
	var who struct{ Account, Arn string }
	var lambda struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	var dynamo struct{ TableMaxReadCapacityUnits, TableMaxWriteCapacityUnits int }
	var gateway struct {
		ThrottleSettings struct{ RateLimit float64 }
	}
	var stacks struct {
		StackSummaries []struct{ StackName, StackStatus string }
	}
	for _, read := range []struct {
		into             any
		service, command string
	}{
		{&who, "sts", "get-caller-identity"}, {&lambda, "lambda", "get-account-settings"}, {&dynamo, "dynamodb", "describe-limits"},
		{&gateway, "apigateway", "get-account"}, {&stacks, "cloudformation", "list-stacks"},
	} {
		if err := a.CLI.Read(ctx, read.into, read.service, read.command); err != nil {
			return l, err
		}
	}
	l = Limits{
		Account: who.Account + " as " + who.Arn, Concurrency: lambda.AccountLimit.ConcurrentExecutions, Unreserved: lambda.AccountLimit.UnreservedConcurrentExecutions,
		TableReads: dynamo.TableMaxReadCapacityUnits, TableWrites: dynamo.TableMaxWriteCapacityUnits, Rate: gateway.ThrottleSettings.RateLimit,
	}
	if l.Concurrency == 0 || l.TableWrites == 0 || l.Rate == 0 {
		return l, errors.New("an answer has no limit")
	}
	for _, s := range stacks.StackSummaries {
		if s.StackName == stack && s.StackStatus != "DELETE_COMPLETE" && s.StackStatus != "REVIEW_IN_PROGRESS" {
			return l, a.deployed(ctx, stack, &l)
		}
	}
	return l, nil
}

// deployed adds what the stack has so far: its parameters, and the warm throughput of a table of its own.
func (a Account) deployed(ctx context.Context, stack string, l *Limits) error {
	var found struct {
		Stacks []struct {
			Parameters []struct{ ParameterKey, ParameterValue string }
			Outputs    []struct{ OutputKey, OutputValue string } // none while the first creation fails
		}
	}
	if err := a.CLI.Read(ctx, &found, "cloudformation", "describe-stacks", "--stack-name", stack); err != nil {
		return err
	}
	l.Deployed = map[string]string{}
	for _, s := range found.Stacks {
		for _, p := range s.Parameters {
			l.Deployed[p.ParameterKey] = p.ParameterValue
		}
		for _, o := range s.Outputs {
			if o.OutputKey != "TableName" || l.Deployed["ExistingTable"] != "" {
				continue
			}
			var described struct {
				Table struct {
					WarmThroughput struct{ ReadUnitsPerSecond, WriteUnitsPerSecond int }
				}
			}
			if err := a.CLI.Read(ctx, &described, "dynamodb", "describe-table", "--table-name", o.OutputValue); err != nil {
				return err
			}
			l.WarmReads, l.WarmWrites = described.Table.WarmThroughput.ReadUnitsPerSecond, described.Table.WarmThroughput.WriteUnitsPerSecond
		}
	}
	return nil
}

// Bus is Lookup.Bus.
func (a Account) Bus(ctx context.Context, arn string) error {
	var found struct{ Arn string }
	return a.CLI.Read(ctx, &found, "events", "describe-event-bus", "--name", arn)
}

// Issuer is Lookup.Issuer. It reads the issuer's documents as API Gateway does: over https, first the
// discovery document, then the keys at its jwks_uri. The error says why API Gateway would refuse all
// tokens.
func (a Account) Issuer(ctx context.Context, issuer string) error {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := a.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return err
	}
	if document.Issuer != issuer {
		return fmt.Errorf("its discovery document names another issuer: %q", document.Issuer)
	}
	var keys struct {
		Keys []struct {
			Type string `json:"kty"`
		} `json:"keys"`
	}
	if err := a.get(ctx, document.Keys, &keys); err != nil {
		return err
	}
	for _, k := range keys.Keys {
		if k.Type == "RSA" {
			return nil
		}
	}
	return errors.New("it publishes no RSA key, and API Gateway accepts only RSA")
}

// issuerTime bounds one request to an issuer. API Gateway waits 1.5 s for a JWKS endpoint.
const issuerTime = 5 * time.Second

func (a Account) get(ctx context.Context, address string, into any) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not an https address, which API Gateway requires", address)
	}
	ctx, cancel := context.WithTimeout(ctx, issuerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	response, err := a.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", address, response.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("%s is not JSON: %w", address, err)
	}
	return nil
}
