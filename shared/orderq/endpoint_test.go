package orderq

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	transport "github.com/aws/smithy-go/endpoints"
)

// rules resolve endpoints like the SDK, and count the calls.
type rules struct {
	sqs.EndpointResolverV2
	asked int
}

func (r *rules) ResolveEndpoint(ctx context.Context, p sqs.EndpointParameters) (transport.Endpoint, error) {
	r.asked++
	return r.EndpointResolverV2.ResolveEndpoint(ctx, p)
}

func TestTheQueuesEndpointIsResolvedOncePerPlace(t *testing.T) {
	own := &rules{EndpointResolverV2: sqs.NewDefaultEndpointResolverV2()}
	r := &resolver{own: own}
	for _, region := range []string{"eu-central-1", "eu-central-1", "us-east-1", "us-east-1"} {
		p := sqs.EndpointParameters{Region: &region, UseDualStack: aws.Bool(false), UseFIPS: aws.Bool(false)}
		got, err := r.ResolveEndpoint(t.Context(), p)
		if want := "sqs." + region + ".amazonaws.com"; err != nil || got.URI.Host != want {
			t.Errorf("got %s (%v), want %s", got.URI.Host, err, want)
		}
	}
	if own.asked != 2 {
		t.Errorf("resolved %d times, want 2", own.asked)
	}
}
