package live

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/eventbus"
)

// published is an event bus with these events.
type published []eventbus.Event

func (p published) Latest() ([]eventbus.Event, map[string]int) {
	counts := map[string]int{}
	for _, e := range p {
		counts[e.DetailType]++
	}
	return p, counts
}

func TestTheLatestEventsAreShownAndAllAreCounted(t *testing.T) {
	w := newWorld(t)
	if s := w.read(context.Background(), ""); s.Events != nil {
		t.Errorf("without a bus there is %+v", s.Events)
	}
	at := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	all := published{
		{DetailType: "OrderConfirmed", Time: at, Detail: json.RawMessage(`{"saleId":"moutai","orderId":"7","user":"alice","state":"CONFIRMED"}`)},
		{DetailType: "SaleSoldOut", Time: at, Detail: json.RawMessage(`{"saleId":"moutai"}`)},
		{DetailType: "Other", Time: at, Detail: json.RawMessage(`{"saleId":5}`)},
	}
	for range maxEvents {
		all = append(all, all[0])
	}
	w.o.Events = all
	want := &eventView{Counts: map[string]int{"OrderConfirmed": 1 + maxEvents, "SaleSoldOut": 1, "Other": 1}, Latest: []eventLine{
		{"OrderConfirmed", "moutai", "7", "alice", at}, {"SaleSoldOut", "moutai", "", "", at}, {"Other", "", "", "", at},
	}}
	for range maxEvents - 3 {
		want.Latest = append(want.Latest, want.Latest[0])
	}
	if diff := cmp.Diff(want, w.read(context.Background(), "").Events); diff != "" {
		t.Error(diff)
	}
}
