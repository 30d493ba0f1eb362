package streampoller

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/eventsource/eventsourcetest"
	"flashsale/infra/local/template"
)

// source is a stream whose items a test writes.
type source struct {
	Stream
	arn string
	put func(pk string)
}

func fakeSource(*testing.T) source {
	s := newStream()
	return source{s, fakeARN, s.put}
}

func engineSource(t *testing.T) source {
	t.Helper()
	e := enginetest.Start(t)
	client := engine.Client(e.Endpoint())
	name := "orders"
	if err := engine.EnsureTable(t.Context(), client, template.Table{
		Name: name, KeySchema: []template.Key{{Name: "pk", Type: "HASH"}},
		AttributeDefinitions: []template.Attribute{{Name: "pk", Type: "S"}}, StreamView: "NEW_AND_OLD_IMAGES",
	}); err != nil {
		t.Fatal(err)
	}
	arn, err := engine.Stream(t.Context(), client, name)
	if err != nil {
		t.Fatal(err)
	}
	return source{engine.StreamsClient(e.Endpoint()), arn, func(pk string) {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &name, Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}},
		}); err != nil {
			t.Error(err)
		}
	}}
}

// TestTheEngineAndTheFakeAgree runs the same story over both, in real time.
func TestTheEngineAndTheFakeAgree(t *testing.T) {
	for name, open := range map[string]func(*testing.T) source{"fake": fakeSource, "engine": engineSource} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			c := config(t, func(c *Config) {
				c.StreamARN, c.BatchSize = s.arn, 3
				c.Filters = []string{`{"dynamodb":{"NewImage":{"pk":{"S":[{"prefix":"a"}]}},"OldImage":{"pk":{"S":[{"exists":false}]}}}}`}
			})
			eventually := func(f *fakeFunction, want ...string) {
				t.Helper()
				for range 500 {
					if slices.Equal(f.Keys(), want) {
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				t.Fatalf("got %v, want %v", f.Keys(), want)
			}
			failed := false
			first := &fakeFunction{}
			first.Answer = func(_ context.Context, b batch) (string, string, error) {
				if i := slices.Index(b.Keys, "a2"); i >= 0 && !failed {
					failed = true
					return eventsourcetest.Failing(b.IDs[i]), "", nil
				}
				return eventsourcetest.Failing(), "", nil
			}
			for _, pk := range []string{"a0", "b0", "a1"} {
				s.put(pk)
			}
			eventsourcetest.Run(t, poller(t, c, s, first).Run, func() {
				eventually(first, "a0", "a1")
				s.put("a2")
				eventually(first, "a0", "a1", "a2", "a2")
			})
			s.put("b1")
			s.put("a3")
			second := &fakeFunction{}
			eventsourcetest.Run(t, poller(t, c, s, second).Run, func() {
				eventually(second, "a3")
				s.put("a4")
				eventually(second, "a3", "a4")
			})
		})
	}
}
