package e2e

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// published are the order events on the stack's event bus: how often each one arrived, by its
// own id, and one of its details.
func (s *stack) published() (times map[string]int, details map[string]map[string]any) {
	s.t.Helper()
	times, details = map[string]int{}, map[string]map[string]any{}
	content, err := os.ReadFile(filepath.Join(s.data, "events.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	// A line that is being written is not there yet.
	lines := strings.Split(string(content), "\n")
	for _, line := range lines[:len(lines)-1] {
		var event struct {
			Type   string `json:"detail-type"`
			Detail map[string]any
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		id, _ := event.Detail["id"].(string)
		times[id]++
		details[id] = event.Detail
		if !strings.HasPrefix(id, event.Type+":") {
			s.t.Errorf("an event %s has the id %q", event.Type, id)
		}
	}
	return times, details
}

// told waits until the order's confirmation is published, and returns how often.
func (s *stack) told(order, user string) int {
	s.t.Helper()
	id := "OrderConfirmed:" + order
	var times map[string]int
	var details map[string]map[string]any
	s.eventually(user+"'s order is published", func() bool {
		times, details = s.published()
		return times[id] > 0
	})
	if d := details[id]; d["orderId"] != order || d["user"] != user || d["state"] != "CONFIRMED" {
		s.t.Errorf("published %v", d)
	}
	return times[id]
}

func TestAConfirmedOrderIsPublishedAlsoAfterTheStackWasKilled(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("told", 50, 2)
	first, _ := s.buysAndWaits("told", "ann")
	if n := s.told(first, "ann"); n != 1 {
		t.Errorf("ann's order was published %d times, though nothing failed", n)
	}
	// What was done before the kill stays done, and what was not is done after it.
	second, _ := s.buysAndWaits("told", "bob")
	s.kill()
	s.start()
	s.told(second, "bob")
	third, _ := s.buysAndWaits("told", "cid")
	s.told(third, "cid")
	if times, _ := s.published(); times["OrderConfirmed:"+first] != 1 || len(times) != 3 {
		t.Errorf("published %v, want ann's order once, and three orders", times)
	}
}

func TestPublishingBeginsOnDataThatHadNone(t *testing.T) {
	t.Parallel()
	s := boot(t, "-parameter", "PublishEvents=false")
	s.open("untold", 5, 1)
	silent, _ := s.buysAndWaits("untold", "ann")
	if _, err := os.Stat(filepath.Join(s.data, "events.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file of events: %v", err)
	}
	s.stop()
	s.extra = nil
	s.start()
	later, _ := s.buysAndWaits("untold", "bob")
	s.told(later, "bob")
	if times, _ := s.published(); times["OrderConfirmed:"+silent] != 0 || len(times) != 1 {
		t.Errorf("published %v, want only what happened since", times)
	}
}

func TestOrdersArePublishedThoughTheBusFailsAtFirst(t *testing.T) {
	t.Parallel()
	s := boot(t, "-faults", "publish=0.5,seed=3")
	s.open("flaky", 50, 2)
	orders := map[string]string{}
	for _, user := range []string{"ann", "bob", "cid", "dee"} {
		orders[user], _ = s.buysAndWaits("flaky", user)
	}
	for user, order := range orders {
		s.told(order, user)
	}
}
