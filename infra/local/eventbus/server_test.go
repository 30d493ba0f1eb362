package eventbus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// bus is a server with the real client.
type bus struct {
	*Server
	t      *testing.T
	client *eventbridge.Client
	path   string
}

func start(t *testing.T, path string) *bus {
	t.Helper()
	s, err := Open(Options{Path: path, Buses: []string{"orders"}, AccountID: "000000000000", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() { web.Close(); _ = s.Close() })
	return &bus{s, t, eventbridge.New(eventbridge.Options{
		BaseEndpoint: &web.URL, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), Retryer: aws.NopRetryer{},
	}), path}
}

func newBus(t *testing.T) *bus { return start(t, filepath.Join(t.TempDir(), "events.jsonl")) }

func (b *bus) put(entries ...types.PutEventsRequestEntry) (*eventbridge.PutEventsOutput, error) {
	return b.client.PutEvents(context.Background(), &eventbridge.PutEventsInput{Entries: entries})
}

// codes are the error codes of the answer's entries, "" for accepted ones.
func (b *bus) codes(entries ...types.PutEventsRequestEntry) (codes []string) {
	b.t.Helper()
	out, err := b.put(entries...)
	if err != nil {
		b.t.Fatal(err)
	}
	failed := 0
	for _, r := range out.Entries {
		codes = append(codes, aws.ToString(r.ErrorCode))
		if (r.ErrorCode == nil) != (r.EventId != nil) {
			b.t.Errorf("result %q has the id %v", aws.ToString(r.ErrorCode), r.EventId)
		}
		if r.ErrorCode != nil {
			failed++
		}
	}
	if int(out.FailedEntryCount) != failed {
		b.t.Errorf("%d failed, want %d", out.FailedEntryCount, failed)
	}
	return codes
}

// lines are the recorded lines.
func (b *bus) lines() []string {
	b.t.Helper()
	content, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")[:bytes.Count(content, []byte("\n"))]
}

func good(detail string) types.PutEventsRequestEntry {
	return types.PutEventsRequestEntry{
		Source: aws.String("flashsale"), DetailType: aws.String("OrderConfirmed"), Detail: &detail, EventBusName: aws.String("orders"),
	}
}

func with(change func(*types.PutEventsRequestEntry)) types.PutEventsRequestEntry {
	e := good("{}")
	change(&e)
	return e
}

func TestAnEventIsRecordedAsTargetsGetIt(t *testing.T) {
	b := newBus(t)
	e := good(`{ "orderId": 12345678901234567890, "text": "<摩>" }`)
	e.Time = aws.Time(time.Date(2026, 11, 11, 12, 0, 0, 987e6, time.FixedZone("CST", 8*3600)))
	before := time.Now().Truncate(time.Second)
	out, err := b.put(e, good("{}"))
	if err != nil {
		t.Fatal(err)
	}
	lines := b.lines()
	want := `{"version":"0","id":"` + *out.Entries[0].EventId + `","detail-type":"OrderConfirmed","source":"flashsale","account":"000000000000",` +
		`"time":"2026-11-11T04:00:00Z","region":"us-east-1","resources":[],"detail":{"orderId":12345678901234567890,"text":"<摩>"}}`
	if len(lines) != 2 || lines[0] != want {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(lines, "\n"), want)
	}
	var second Event
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil || second.Time.Before(before) || second.Resources == nil || second.ID == *out.Entries[0].EventId {
		t.Errorf("%+v, %v", second, err)
	}
	if latest, counts := b.Latest(); len(latest) != 2 || latest[0].ID != second.ID || counts["OrderConfirmed"] != 2 {
		t.Errorf("latest %+v of %v", latest, counts)
	}
}

func TestEveryEntryIsJudgedAlone(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry types.PutEventsRequestEntry
		want  string
	}{
		{"no source", with(func(e *types.PutEventsRequestEntry) { e.Source = nil }), codeArgument},
		{"no detail type", with(func(e *types.PutEventsRequestEntry) { e.DetailType = nil }), codeArgument},
		{"a long detail type", with(func(e *types.PutEventsRequestEntry) { e.DetailType = aws.String(strings.Repeat("x", 129)) }), codeArgument},
		{"no detail", with(func(e *types.PutEventsRequestEntry) { e.Detail = nil }), codeArgument},
		{"no JSON", good("{"), codeDetail},
		{"a list", good("[]"), codeDetail},
		{"two objects", good("{}{}"), codeDetail},
		{"white space around", good(" {\n} "), ""},
		{"null", good("null"), codeDetail},
		{"by ARN", with(func(e *types.PutEventsRequestEntry) {
			e.EventBusName = aws.String("arn:aws:events:us-east-1:000000000000:event-bus/orders")
		}), ""},
	} {
		b := newBus(t)
		if got := b.codes(good(`{"n":1}`), tt.entry, good(`{"n":2}`)); !slices.Equal(got, []string{"", tt.want, ""}) {
			t.Errorf("%s: codes %q", tt.name, got)
		}
		want := 2
		if tt.want == "" {
			want = 3
		}
		if got := len(b.lines()); got != want {
			t.Errorf("%s: %d events are recorded, want %d", tt.name, got, want)
		}
	}
}

func TestABusThatDoesNotExistTakesEventsAndLosesThem(t *testing.T) {
	b := newBus(t)
	b.codes(with(func(e *types.PutEventsRequestEntry) { e.EventBusName = aws.String("other") }))
	if got := b.lines(); len(got) != 0 {
		t.Errorf("recorded %q", got)
	}
	b.codes(with(func(e *types.PutEventsRequestEntry) { e.EventBusName = nil }))
	if got := b.lines(); len(got) != 1 {
		t.Errorf("the default bus recorded %q", got)
	}
}

func TestACallHasEventBridgesLimits(t *testing.T) {
	many := func(n int) []types.PutEventsRequestEntry {
		return slices.Repeat([]types.PutEventsRequestEntry{good("{}")}, n)
	}
	sized := func(n int) types.PutEventsRequestEntry { return good("{" + strings.Repeat(" ", n) + "}") }
	for _, tt := range []struct {
		name    string
		entries []types.PutEventsRequestEntry
		refused bool
	}{
		{"none", many(0), true}, {"ten", many(10), false}, {"eleven", many(11), true},
		{"below 1 MB", []types.PutEventsRequestEntry{good("{}"), sized(maxTotalBytes - 100)}, false},
		{"1 MB", []types.PutEventsRequestEntry{sized(maxTotalBytes / 2), sized(maxTotalBytes / 2)}, true},
	} {
		b := newBus(t)
		_, err := b.put(tt.entries...)
		var problem smithy.APIError
		if refused := errors.As(err, &problem) && problem.ErrorCode() == "ValidationException"; refused != tt.refused || err != nil && !refused {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := len(b.lines()); tt.refused && got != 0 {
			t.Errorf("%s: %d events are recorded, want none", tt.name, got)
		}
	}
}

func TestAfterAnInterruptedWriteTheFileHasWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	b := start(t, path)
	b.codes(good(`{"n":1}`), good(`{"n":2}`))
	whole := b.lines()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 1, len(whole[1]) - 1, len(whole[1])} {
		if err := os.WriteFile(path, []byte(whole[0]+"\n"+whole[1][:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		b := start(t, path)
		if _, counts := b.Latest(); !slices.Equal(b.lines(), whole[:1]) || counts["OrderConfirmed"] != 1 {
			t.Errorf("cut after %d bytes: %q, %v", cut, b.lines(), counts)
		}
		_ = b.Close()
	}
	again := start(t, path)
	again.codes(good(`{"n":3}`))
	// A write that failed leaves a part.
	if _, err := again.file.WriteAt([]byte(`{"version":"0"`), again.size); err != nil {
		t.Fatal(err)
	}
	again.codes(good(`{"n":4}`))
	if got := again.lines(); len(got) != 3 || !strings.Contains(got[1], `{"n":3}`) || !strings.HasPrefix(got[2], `{"version":"0","id":`) || !strings.Contains(got[2], `{"n":4}`) {
		t.Errorf("%q", got)
	}
}

func TestACallThatCannotBeRecordedIsAnsweredWithAnError(t *testing.T) {
	b := newBus(t)
	b.codes(good("{}"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var problem smithy.APIError
	if _, err := b.put(good("{}")); !errors.As(err, &problem) || problem.ErrorCode() != "InternalException" {
		t.Errorf("got %v", err)
	}
	if _, counts := b.Latest(); counts["OrderConfirmed"] != 1 {
		t.Errorf("counted %v", counts)
	}
}

func TestTroubleIsMetByItsShareAndEnds(t *testing.T) {
	b := newBus(t)
	b.SetTrouble(Trouble{Down: true})
	var problem smithy.APIError
	if _, err := b.put(good("{}")); !errors.As(err, &problem) || problem.ErrorCode() != "InternalFailure" || len(b.lines()) != 0 {
		t.Errorf("down: %v, %q", err, b.lines())
	}
	if met := b.Met(); !cmp.Equal(met, map[string]int{metFailed: 1}) {
		t.Errorf("met %v", met)
	}
	b.SetTrouble(Trouble{Share: 1, Seed: 1})
	const calls = 60
	recorded := 0
	seen := map[string]int{}
	for i := range calls {
		out, err := b.put(good(fmt.Sprintf(`{"n":%d}`, i)), good("{}"), good("{}"))
		grown := len(b.lines()) - recorded
		recorded += grown
		switch {
		case err == nil && out.FailedEntryCount > 0 && grown == 3-int(out.FailedEntryCount) && *out.Entries[slices.IndexFunc(out.Entries, func(r types.PutEventsResultEntry) bool { return r.ErrorCode != nil })].ErrorCode == codeThrottle:
			seen[metThrottled]++
		case errors.As(err, &problem) && grown == 0:
			seen[metFailed]++
		case err != nil && grown == 3:
			seen[metLost]++
		default:
			t.Errorf("call %d: %+v, %v, %d recorded", i, out, err, grown)
		}
		problem = nil
	}
	if !cmp.Equal(seen, b.Met()) || len(seen) != 3 || seen[metFailed] < calls/6 || seen[metThrottled] < calls/6 || seen[metLost] < calls/6 {
		t.Errorf("met %v, seen %v", b.Met(), seen)
	}
	b.SetTrouble(Trouble{})
	b.codes(good("{}"))
	if met := b.Met(); len(met) != 0 {
		t.Errorf("healed, but met %v", met)
	}
}
