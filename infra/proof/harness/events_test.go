package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
)

func TestTheFiltersAreThoseOfTheTemplate(t *testing.T) {
	template, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`- Pattern: '(.*)'`).FindAllStringSubmatch(string(template), -1) {
		want = append(want, m[1])
	}
	for _, f := range filters {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filters (-template +here):\n%s", diff)
	}
}

func str(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func num(v int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: fmt.Sprint(v)}
}

type row = map[string]types.AttributeValue

// confirmation is the record of Alice's confirmed claim, and event what is published of it.
func confirmation() (r dynamotest.Record, event string) {
	orderID := int64(noon.Sub(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC))/time.Second)<<32 | 1
	keys := row{"pk": str("CLAIM#moutai#0"), "sk": str("alice")}
	before := row{"pk": keys["pk"], "sk": keys["sk"], "claimId": str("C1"), "shard": num(0), "acceptedAt": num(noon.UnixMilli())}
	after := maps.Clone(before)
	after["orderId"] = num(orderID)
	return dynamotest.Record{Table: TableName, Sequence: 7, At: noon, Keys: keys, Old: before, New: after},
		fmt.Sprintf(`{"schemaVersion":1,"id":"OrderConfirmed:%d","occurredAt":"2026-11-11T12:00:00.000Z","saleId":"moutai","orderId":"%[1]d",`+
			`"claimId":"C1","user":"alice","state":"CONFIRMED"}`, orderID)
}

func put(b *Bus, details ...string) {
	for _, d := range details {
		kind, _, _ := strings.Cut(idOf(d), ":")
		_, _ = b.Put(&eventbridge.PutEventsInput{Entries: []bustypes.PutEventsRequestEntry{{
			Source: aws.String("flashsale"), DetailType: &kind, Detail: &d, EventBusName: aws.String(busName), Time: &noon,
		}}}, func(int) string { return "" })
	}
}

func stored(b *Bus, record []byte) {
	text, _ := json.Marshal(map[string]any{"code": "poison-message", "error": "x", "record": json.RawMessage(record)})
	_, _ = b.Store(&sqs.SendMessageInput{MessageBody: aws.String(string(text))})
}

func TestTheJudgeFindsWhatIsWrongWithTheEvents(t *testing.T) {
	r, event := confirmation()
	other := strings.Replace(event, "OrderConfirmed:", "OrderPaid:", 1)
	poison := []byte(`{"poison":1}`)
	for name, tt := range map[string]struct {
		bus  func(*Bus)
		want string
	}{
		"right":             {func(b *Bus) { put(b, event) }, ""},
		"twice":             {func(b *Bus) { put(b, event, event) }, ""},
		"missing":           {func(*Bus) {}, "is not published"},
		"too much":          {func(b *Bus) { put(b, event, other) }, "not in the table"},
		"another content":   {func(b *Bus) { put(b, strings.Replace(event, "alice", "bob", 1)) }, "want map["},
		"two contents":      {func(b *Bus) { put(b, event, event+" ") }, "two contents"},
		"a member too many": {func(b *Bus) { put(b, strings.Replace(event, "}", `,"shard":0}`, 1)) }, "want map["},
		"another time": {func(b *Bus) {
			put(b, event)
			b.events[event].time = noon.Add(time.Second)
		}, "time"},
		"refused and lost": {func(b *Bus) {
			b.Refuses = func(string) bool { return true }
			put(b, event)
		}, "is refused"},
		"refused and stored": {func(b *Bus) {
			b.Refuses = func(string) bool { return true }
			put(b, event)
			stored(b, r.JSON())
		}, ""},
		"stored and not refused": {func(b *Bus) {
			put(b, event)
			stored(b, r.JSON())
		}, "is in the failure queue"},
		"poison that is lost":        {func(b *Bus) { put(b, event); delete(b.failures, string(poison)) }, "is not in the failure queue"},
		"a failure without its code": {func(b *Bus) { put(b, event); _, _ = b.Store(&sqs.SendMessageInput{MessageBody: aws.String("{}")}) }, "the failure queue gets"},
		"a call without an entry":    {func(b *Bus) { put(b, event); _, _ = b.Put(&eventbridge.PutEventsInput{}, nil) }, "PutEvents of 0"},
	} {
		j, b := NewEventJudge(), NewBus()
		j.Observe(r)
		j.Observe(dynamotest.Record{Old: r.New, New: r.New}) // a change that means nothing
		j.Poison[string(poison)] = true
		stored(b, poison)
		tt.bus(b)
		_, found := j.Judge([]row{r.New}, b, io.Discard)
		if all := strings.Join(found, "\n"); (tt.want == "") != (all == "") || !strings.Contains(all, tt.want) {
			t.Errorf("%s: found %q, want %q", name, all, tt.want)
		}
	}
	again := r // as of a sale that is drained twice
	again.Sequence++
	for kept, want := range map[int]string{0: "is refused", 1: "is refused", 2: ""} {
		j, b := NewEventJudge(), NewBus()
		b.Refuses = func(string) bool { return true }
		put(b, event)
		for n, record := range []dynamotest.Record{r, again} {
			if j.Observe(record); n < kept {
				stored(b, record.JSON())
			}
		}
		if _, found := j.Judge([]row{r.New}, b, io.Discard); (want == "") != (len(found) == 0) || !strings.Contains(strings.Join(found, "\n"), want) {
			t.Errorf("%d of an event's two records are kept: found %q, want %q", kept, found, want)
		}
	}
	j := NewEventJudge()
	if _, found := j.Judge([]row{r.New}, NewBus(), io.Discard); len(found) != 1 || !strings.Contains(found[0], "no change was seen") {
		t.Errorf("of an item without a change: %q", found)
	}
}
