package ledger

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	transport "github.com/aws/smithy-go/endpoints"
)

// rules resolve endpoints like the SDK, and count the calls.
type rules struct {
	dynamodb.EndpointResolverV2
	asked int
}

func (r *rules) ResolveEndpoint(ctx context.Context, p dynamodb.EndpointParameters) (transport.Endpoint, error) {
	r.asked++
	return r.EndpointResolverV2.ResolveEndpoint(ctx, p)
}

func TestTheEndpointOfATableIsResolvedOnceAndThatOfAnARNEveryTime(t *testing.T) {
	at := func(change func(*dynamodb.EndpointParameters)) dynamodb.EndpointParameters {
		p := dynamodb.EndpointParameters{
			Region: aws.String("eu-central-1"), UseDualStack: aws.Bool(false), UseFIPS: aws.Bool(false),
			AccountId: aws.String("111122223333"), AccountIdEndpointMode: aws.String("preferred"), ResourceArn: aws.String("Ledger"),
		}
		change(&p)
		return p
	}
	same := func(*dynamodb.EndpointParameters) {}
	arn := "arn:aws:dynamodb:eu-central-1:444455556666:table/Ledger"
	for name, tt := range map[string]struct {
		change func(*dynamodb.EndpointParameters)
		asked  int // of four calls, two before and two after the change
	}{
		"nothing else":      {same, 1},
		"another account":   {func(p *dynamodb.EndpointParameters) { p.AccountId = aws.String("444455556666") }, 2},
		"no account":        {func(p *dynamodb.EndpointParameters) { p.AccountId = nil }, 2},
		"another region":    {func(p *dynamodb.EndpointParameters) { p.Region = aws.String("eu-west-1") }, 2},
		"an engine":         {func(p *dynamodb.EndpointParameters) { p.Endpoint = aws.String("http://127.0.0.1:8000") }, 2},
		"a table's ARN":     {func(p *dynamodb.EndpointParameters) { p.ResourceArn = &arn }, 3},
		"an ARN in a batch": {func(p *dynamodb.EndpointParameters) { p.ResourceArnList = []string{"Ledger", arn} }, 3},
	} {
		own := &rules{EndpointResolverV2: dynamodb.NewDefaultEndpointResolverV2()}
		r := &resolver{own: own}
		for _, p := range []dynamodb.EndpointParameters{at(same), at(same), at(tt.change), at(tt.change)} {
			got, err := r.ResolveEndpoint(t.Context(), p)
			want, wantErr := dynamodb.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), p)
			if err != nil || wantErr != nil || got.URI != want.URI {
				t.Errorf("%s: got %v (%v), want %v (%v)", name, got.URI, err, want.URI, wantErr)
			}
		}
		if own.asked != tt.asked {
			t.Errorf("%s: resolved %d times, want %d", name, own.asked, tt.asked)
		}
	}
}
