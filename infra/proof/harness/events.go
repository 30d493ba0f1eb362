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

// dueEvent is an event that must be published.
type dueEvent struct {
	detail map[string]any
	since  time.Time
	// records mean it; most events have one. A sale that is drained again after a restock
	// has another.
	records []dynamotest.Record
}

// expected returns the details of the events that must have been published of an item, which
// changed at that instant, by their type.
func (j *EventJudge) expected(it map[string]types.AttributeValue, changed time.Time) map[string]map[string]any {
	if it == nil {
		return nil
	}
	details, problem := books.EventsOf(it, changed)
	if problem != "" {
		j.wrong = append(j.wrong, fmt.Sprintf("%s: %s", keyOf(it), problem))
	}
	byType := map[string]map[string]any{}
	for _, d := range details {
		byType[typeOf(d)] = d
	}
	return byType
}

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
	due    map[string]*dueEvent // by id
	wrong  []string             // items that are not as documented
	Poison map[string]bool      // records that can never be published
}

func NewEventJudge() *EventJudge {
	return &EventJudge{due: map[string]*dueEvent{}, Poison: map[string]bool{}}
}

// Observe records what a change of an item means: the events that it did not mean before. It
// reports whether there are any.
func (j *EventJudge) Observe(r dynamotest.Record) (due bool) {
	after := j.expected(r.New, r.At)
	if isPutBack := r.Old == nil && strings.HasPrefix(Text(r.Keys["pk"]), "CLAIM#"); len(after) == 0 || isPutBack {
		return false
	}
	before := j.expected(r.Old, r.At)
	for kind, d := range after {
		if before[kind] != nil {
			continue
		}
		due = true
		id := d["id"].(string)
		if j.due[id] == nil {
			j.due[id] = &dueEvent{detail: d, since: time.Now()}
		}
		j.due[id].records = append(j.due[id].records, r)
	}
	return due
}

// EventFigures count what was published.
type EventFigures struct {
	Events, Duplicates, Poison int
	Delay                      time.Duration // the longest, from a change to its first publication
}

// Judge returns what is wrong: events that are due by the changes or by the items of the
// table and not on the bus, what else is there, and poison that was lost.
func (j *EventJudge) Judge(items []map[string]types.AttributeValue, b *Bus, digest io.Writer) (f EventFigures, found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	violate := func(format string, args ...any) { found = append(found, "P26: "+fmt.Sprintf(format, args...)) }
	for _, text := range b.wrong {
		violate("%s", text)
	}
	got := map[string]*publication{}
	refused := map[string]bool{} // the records of the events that the bus refuses
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
		case !isSame(d, due.detail):
			violate("%s is published, want %v", text, due.detail)
		case p.source != "flashsale" || p.detailType != typeOf(d) || Stamp(p.time) != d["occurredAt"]:
			violate("%s is published with source %s, type %s, time %v", id, p.source, p.detailType, p.time)
		case got[id] != nil:
			violate("%s is published with two contents, one is %s", id, text)
		}
		got[id] = p
		f.Events, f.Duplicates, f.Delay = f.Events+1, f.Duplicates+p.times-1, max(f.Delay, p.first.Sub(due.since))
		fmt.Fprintln(digest, text, p.times, p.first.UnixNano())
	}
	for _, id := range Sorted(j.due) {
		switch {
		case got[id] != nil:
		case b.refused[id]:
			for _, r := range j.due[id].records {
				record := string(r.JSON())
				refused[record] = true
				if !b.failures[record] {
					violate("%s is refused, and its record is not in the failure queue", id)
				}
			}
		default:
			violate("%s is not published", id)
		}
	}
	for _, it := range items {
		for kind, d := range j.expected(it, time.Time{}) {
			if id := d["id"].(string); j.due[id] == nil && kind != "SaleSoldOut" {
				violate("%s is in the table, and no change was seen", id)
			}
		}
	}
	for _, text := range j.wrong {
		violate("%s", text)
	}
	for _, record := range Sorted(j.Poison) {
		if !b.failures[record] {
			violate("%s is not in the failure queue", record)
		}
	}
	for _, record := range Sorted(b.failures) {
		f.Poison++
		if !j.Poison[record] && !refused[record] {
			violate("%s is in the failure queue", record)
		}
	}
	return f, found
}
