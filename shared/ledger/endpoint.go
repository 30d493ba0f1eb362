package ledger

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	transport "github.com/aws/smithy-go/endpoints"

	"flashsale/shared/endpoint"
)

// resolver is the client's default resolver with a cache. A table given by ARN may have
// its account's endpoint, so such a call is resolved every time.
type resolver struct {
	own    dynamodb.EndpointResolverV2
	memory endpoint.Memory
}

// ResolveEndpoint implements dynamodb.EndpointResolverV2.
func (r *resolver) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (transport.Endpoint, error) {
	if isARN(aws.ToString(p.ResourceArn)) || slices.ContainsFunc(p.ResourceArnList, isARN) || aws.ToBool(p.IsSearchOperation) {
		return r.own.ResolveEndpoint(ctx, p)
	}
	return r.memory.At(endpoint.Place{
		Region: aws.ToString(p.Region), URL: aws.ToString(p.Endpoint),
		AccountID: aws.ToString(p.AccountId), ByAccount: aws.ToString(p.AccountIdEndpointMode),
		DualStack: aws.ToBool(p.UseDualStack), FIPS: aws.ToBool(p.UseFIPS),
	}, func() (transport.Endpoint, error) { return r.own.ResolveEndpoint(ctx, p) })
}

func isARN(table string) bool { return strings.HasPrefix(table, "arn:") }
