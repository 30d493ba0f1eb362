package ids

import (
	"strconv"
	"testing"
	"time"

	"flashsale/infra/lab/shop"
)

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

func batch(began, came int, ids ...string) issued { return issued{ids, at(began), at(came)} }

func TestAPileOfIdsIsRead(t *testing.T) {
	for _, c := range []struct {
		name                 string
		pile                 []issued
		disorder, neighbours float64
		duplicates           int
	}{
		{"one after the other", []issued{batch(0, 1, "1"), batch(2, 3, "2"), batch(4, 5, "3"), batch(6, 7, "9")}, 0, 0.5, 0},
		{"a later one sorts before", []issued{batch(0, 1, "100"), batch(2, 3, "50")}, 0.5, 0, 0},
		{"overlapping ones may come in any order", []issued{batch(0, 5, "100"), batch(1, 4, "50")}, 0, 0, 0},
		{"the same twice", []issued{batch(0, 1, "7"), batch(2, 3, "7")}, 0, 0, 1},
		{"uuids sort as 128 bits", []issued{batch(0, 1, "00000000-0000-0000-0000-0000000000ff"), batch(2, 3, "00000000-0000-0000-0000-000000000100")}, 0, 0.5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := read("x", c.pile, time.Second)
			if err != nil || r.Disorder != c.disorder || r.Neighbours != c.neighbours || r.Duplicates != c.duplicates {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	if _, err := read("x", []issued{batch(0, 1, "not an id")}, time.Second); err == nil {
		t.Error("what is no id was read")
	}
}

func TestWhatNeedsNoEngineIssuesWithoutOne(t *testing.T) {
	for _, g := range All() {
		if g.Needs != "" {
			continue
		}
		r, err := Measure(t.Context(), g, shop.Place{}, 20*time.Millisecond)
		if err != nil || r.Issued == 0 || r.Duplicates != 0 || r.Neighbours != 0 {
			t.Errorf("%s: %+v, %v", g.Name, r, err)
		}
	}
}

func TestRandomIdsAreOutOfOrderAndCountedOnesAreNot(t *testing.T) {
	r, err := Measure(t.Context(), randomUUID(), shop.Place{}, 20*time.Millisecond)
	if err != nil || r.Disorder < 0.5 {
		t.Errorf("uuid-v4: %+v, %v; want most of them out of order", r, err)
	}
	var counted []issued
	for i := range 100 {
		counted = append(counted, batch(2*i, 2*i+1, strconv.Itoa(1000+i)))
	}
	if r, err := read("counted", counted, time.Second); err != nil || r.Disorder != 0 || r.Neighbours != 0.99 {
		t.Errorf("counted: %+v, %v", r, err)
	}
}
