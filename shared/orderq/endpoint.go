package orderq

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	transport "github.com/aws/smithy-go/endpoints"

	"flashsale/shared/endpoint"
)

// resolver is the client's default resolver with a cache.
type resolver struct {
	own    sqs.EndpointResolverV2
	memory endpoint.Memory
}

// ResolveEndpoint implements sqs.EndpointResolverV2.
func (r *resolver) ResolveEndpoint(ctx context.Context, p sqs.EndpointParameters) (transport.Endpoint, error) {
	return r.memory.At(endpoint.Place{
		Region: aws.ToString(p.Region), URL: aws.ToString(p.Endpoint),
		DualStack: aws.ToBool(p.UseDualStack), FIPS: aws.ToBool(p.UseFIPS),
	}, func() (transport.Endpoint, error) { return r.own.ResolveEndpoint(ctx, p) })
}
