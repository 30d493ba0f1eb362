package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apigatewaytypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	cloudformation "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/ops/target"
)

// Account looks at an AWS account and at issuers.
type Account struct {
	AWS      aws.Config
	DynamoDB interface {
		books.DynamoDB
		DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	}
	HTTP *http.Client
}

func (a Account) Limits(ctx context.Context, stack string) (l Limits, err error) {
	who, err := sts.NewFromConfig(a.AWS).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return l, err
	}
	settings, err := lambda.NewFromConfig(a.AWS).GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return l, err
	}
	units, err := dynamodb.NewFromConfig(a.AWS).DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
	if err != nil {
		return l, err
	}
	gateway, err := apigateway.NewFromConfig(a.AWS).GetAccount(ctx, &apigateway.GetAccountInput{})
	if err != nil {
		return l, err
	}
	throttle := cmp.Or(gateway.ThrottleSettings, &apigatewaytypes.ThrottleSettings{})
	concurrency := cmp.Or(settings.AccountLimit, &lambdatypes.AccountLimit{})
	l = Limits{
		Account: aws.ToString(who.Account) + " as " + aws.ToString(who.Arn), Concurrency: int(concurrency.ConcurrentExecutions), Unreserved: int(aws.ToInt32(concurrency.UnreservedConcurrentExecutions)),
		TableWrites: int(aws.ToInt64(units.TableMaxWriteCapacityUnits)), Rate: throttle.RateLimit,
	}
	if l.Concurrency == 0 || l.TableWrites == 0 || l.Rate == 0 {
		return l, errors.New("an answer has no limit")
	}
	return l, a.deployed(ctx, stack, &l)
}

// deployed adds what the stack has so far: its parameters, and the warm throughput of a table of its own.
func (a Account) deployed(ctx context.Context, stack string, l *Limits) error {
	found, err := target.DescribeStack(ctx, a.AWS, stack)
	if errors.Is(err, client.ErrNoSystem) || err == nil && found.StackStatus == cloudformation.StackStatusReviewInProgress {
		return nil
	}
	if err != nil {
		return err
	}
	l.Deployed = map[string]string{}
	for _, p := range found.Parameters {
		l.Deployed[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
	}
	for _, o := range found.Outputs { // none while the first creation fails
		if aws.ToString(o.OutputKey) != "TableName" || l.Deployed["ExistingTable"] != "" {
			continue
		}
		described, err := dynamodb.NewFromConfig(a.AWS).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: o.OutputValue})
		if err != nil {
			return err
		}
		if warm := described.Table.WarmThroughput; warm != nil {
			l.WarmWrites = int(aws.ToInt64(warm.WriteUnitsPerSecond))
		}
	}
	return nil
}

func (a Account) Bus(ctx context.Context, arn string) error {
	_, err := eventbridge.NewFromConfig(a.AWS).DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &arn})
	return err
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
