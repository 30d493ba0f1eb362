package streampoller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/eventsource/eventsourcetest"
	"flashsale/infra/local/template"
)

// TestTheEnginesStreamIsPolled is in real time.
func TestTheEnginesStreamIsPolled(t *testing.T) {
	e := enginetest.Start(t)
	client, name := engine.Client(e.Endpoint()), "orders"
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
	put := func(pks ...string) {
		t.Helper()
		for _, pk := range pks {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: &name, Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := config(t, func(c *Config) {
		c.StreamARN, c.BatchSize = arn, 3
		c.Filters = []string{`{"dynamodb":{"NewImage":{"pk":{"S":[{"prefix":"a"}]}},"OldImage":{"pk":{"S":[{"exists":false}]}}}}`}
	})
	run := func(f *fakeFunction, story func(got func(want ...string))) {
		t.Helper()
		eventsourcetest.Run(t, poller(t, c, engine.StreamsClient(e.Endpoint()), f).Run, func() {
			story(func(want ...string) {
				t.Helper()
				wait.Until(t, 10*time.Second, strings.Join(want, ", "), func() bool { return slices.Equal(f.Keys(), want) })
			})
		})
	}
	failed := false
	first := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
		if i := slices.Index(b.Keys, "a2"); i >= 0 && !failed {
			failed = true
			return eventsourcetest.Failing(b.IDs[i]), "", nil
		}
		return eventsourcetest.Failing(), "", nil
	}}
	put("a0", "b0", "a1")
	run(first, func(got func(...string)) {
		got("a0", "a1")
		put("a2")
		got("a0", "a1", "a2", "a2")
	})
	put("b1", "a3")
	run(&fakeFunction{}, func(got func(...string)) {
		got("a3")
		put("a4", "a0")
		put("a5")
		got("a3", "a4", "a5")
	})
}
