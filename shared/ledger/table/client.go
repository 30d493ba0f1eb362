package table

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	transport "github.com/aws/smithy-go/endpoints"

	"flashsale/shared/endpoint"
)

// Client returns the client of a function.
func Client(cfg aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(cfg, OneAttempt, func(o *dynamodb.Options) {
		o.EndpointResolverV2 = &resolver{own: o.EndpointResolverV2}
	})
}

// OneAttempt makes the client try each call once: package table does the retries, because
// the SDK neither retries a cancelled transaction nor respects a request's time budget
// (its back-off takes seconds).
func OneAttempt(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// resolver is the client's default resolver with a cache. A table given by ARN may have
// its account's endpoint, so such a call is resolved every time.
type resolver struct {
	own    dynamodb.EndpointResolverV2
	memory endpoint.Memory
}

// ResolveEndpoint implements dynamodb.EndpointResolverV2.
func (r *resolver) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (transport.Endpoint, error) {
	if isARN(aws.ToString(p.ResourceArn)) || slices.ContainsFunc(p.ResourceArnList, isARN) ||
		aws.ToBool(p.IsSearchOperation) {
		return r.own.ResolveEndpoint(ctx, p)
	}
	return r.memory.At(endpoint.Place{
		Region: aws.ToString(p.Region), URL: aws.ToString(p.Endpoint),
		AccountID: aws.ToString(p.AccountId), ByAccount: aws.ToString(p.AccountIdEndpointMode),
		DualStack: aws.ToBool(p.UseDualStack), FIPS: aws.ToBool(p.UseFIPS),
	}, func() (transport.Endpoint, error) { return r.own.ResolveEndpoint(ctx, p) })
}

func isARN(table string) bool { return strings.HasPrefix(table, "arn:") }
