package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
)

// expected returns the details of the events that must have been published of an item, which
// changed at that instant, by their id; that it was sold out, whose id has the sale's version, by its type.
func (j *EventJudge) expected(it map[string]types.AttributeValue, changed time.Time) map[string]map[string]any {
	if it == nil {
		return nil
	}
	details, problem := books.EventsOf(it, changed)
	if problem != "" {
		j.wrong = append(j.wrong, fmt.Sprintf("%s: %s", keyOf(it), problem))
	}
	all := map[string]map[string]any{}
	for _, d := range details {
		about := d["id"].(string)
		if typeOf(d) == soldOut {
			about = soldOut
		}
		all[about] = d
	}
	return all
}

const soldOut = "SaleSoldOut"

// typeOf returns an event's type: what its id begins with.
func typeOf(detail map[string]any) string {
	kind, _, _ := strings.Cut(detail["id"].(string), ":")
	return kind
}

// isSame reports whether two details are the same JSON.
func isSame(a, b map[string]any) bool {
	one, errA := json.Marshal(a)
	other, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(one, other)
}

// EventJudge compares what the table's changes mean with what is on the bus (P26).
type EventJudge struct {
	due   map[string]map[string]any // the details that must be published, by id
	wrong []string                  // items that are not as documented
}

func NewEventJudge() *EventJudge {
	return &EventJudge{due: map[string]map[string]any{}}
}

// Observe records what a change of an item means: the events that it did not mean before. It
// reports whether there are any.
func (j *EventJudge) Observe(r dynamotest.Record) (due bool) {
	after := j.expected(r.New, r.At)
	if isPutBack := r.Old == nil && strings.HasPrefix(Text(r.Keys["pk"]), "CLAIM#"); len(after) == 0 || isPutBack {
		return false
	}
	before := j.expected(r.Old, r.At)
	for about, d := range after {
		if before[about] != nil {
			continue
		}
		due = true
		if id := d["id"].(string); j.due[id] == nil {
			j.due[id] = d
		}
	}
	return due
}

// EventFigures count what was published.
type EventFigures struct {
	Events, Duplicates int
}

// Judge returns what is wrong: events that are due by the changes or by the items of the
// table and not on the bus, and what else is there.
func (j *EventJudge) Judge(items []map[string]types.AttributeValue, b *Bus, digest io.Writer) (f EventFigures, found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	violate := func(format string, args ...any) { found = append(found, "P26: "+fmt.Sprintf(format, args...)) }
	for _, text := range b.wrong {
		violate("%s", text)
	}
	got := map[string]*publication{}
	for _, text := range Sorted(b.events) {
		p := b.events[text]
		var d map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		err := decoder.Decode(&d)
		id, _ := d["id"].(string)
		due := j.due[id]
		if due == nil {
			violate("%s is published and not in the table (%v)", text, err)
			continue
		}
		switch {
		case !isSame(d, due):
			violate("%s is published, want %v", text, due)
		case p.source != "flashsale" || p.detailType != typeOf(d) || Stamp(p.time) != d["occurredAt"]:
			violate("%s is published with source %s, type %s, time %v", id, p.source, p.detailType, p.time)
		case got[id] != nil:
			violate("%s is published with two contents, one is %s", id, text)
		}
		got[id] = p
		f.Events, f.Duplicates = f.Events+1, f.Duplicates+p.times-1
		fmt.Fprintln(digest, text, p.times, p.first.UnixNano())
	}
	for _, id := range Sorted(j.due) {
		if got[id] == nil {
			violate("%s is not published", id)
		}
	}
	for _, it := range items {
		for about, d := range j.expected(it, time.Time{}) {
			if id := d["id"].(string); j.due[id] == nil && about != soldOut {
				violate("%s is in the table, and no change was seen", id)
			}
		}
	}
	for _, text := range j.wrong {
		violate("%s", text)
	}
	return f, found
}
