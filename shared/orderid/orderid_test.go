package orderid

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

// Ids are stored and given to clients: these must never change.
func TestAnIDHasTheSameValueForever(t *testing.T) {
	for _, tt := range []struct {
		at   string
		n    uint64
		want string
	}{
		{"2023-01-01T00:00:00Z", 1, "1"},
		{"2023-01-01T00:00:01Z", 1, "4294967297"},
		{"2026-01-01T00:00:06Z", 1, "406709376884146177"},
		{"2026-01-01T08:00:06+08:00", 1, "406709376884146177"},
		{"2091-01-19T03:14:07Z", MaxSequence, "9223372036854775807"},
	} {
		id, err := New(at(t, tt.at), tt.n)
		if err != nil || String(id) != tt.want {
			t.Errorf("New(%s, %d) = %s, %v; want %s", tt.at, tt.n, String(id), err, tt.want)
		}
	}
}

func TestAnIDGivesBackItsSecondAndItsSequenceNumber(t *testing.T) {
	for _, instant := range []string{"2023-01-01T00:00:00Z", "2026-11-11T12:00:00.999Z", "2091-01-19T03:14:07Z"} {
		for _, n := range []uint64{1, 2, 99, 1 << 31, MaxSequence} {
			id, err := New(at(t, instant), n)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := Time(id), at(t, instant).Truncate(time.Second); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("time of New(%s, %d) is %s", instant, n, got)
			}
			if Sequence(id) != n {
				t.Errorf("sequence of New(%s, %d) is %d", instant, n, Sequence(id))
			}
			if back, err := Parse(String(id)); back != id || err != nil {
				t.Errorf("Parse(%s) = %d, %v", String(id), back, err)
			}
		}
	}
}

// Uniqueness (P7): a sequence belongs to one UTC day, and the id's second lies in that
// very day, so equal ids would need the same day and the same number.
func TestTheDayOfAnInstantIsTheDayOfItsID(t *testing.T) {
	tests := map[string]string{
		"2026-11-11T23:59:59.999999999Z": "2026-11-11",
		"2026-11-12T00:00:00Z":           "2026-11-12",
		"2026-11-12T07:59:59+08:00":      "2026-11-11",
		"2026-11-11T19:00:00-05:00":      "2026-11-12",
		"2028-02-29T12:00:00Z":           "2028-02-29",
	}
	for text, want := range tests {
		instant := at(t, text)
		id, err := New(instant, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := Day(instant); got != want || Day(Time(id)) != want {
			t.Errorf("day of %s is %s, of its id %s; want %s", text, got, Day(Time(id)), want)
		}
	}
}

func TestWhatDoesNotFitAnIDIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   string
		n    uint64
	}{
		{"the second before 2023", "2022-12-31T23:59:59.999Z", 1},
		{"the second after the last one", "2091-01-19T03:14:08Z", 1},
		{"sequence number 0", "2026-01-01T00:00:00Z", 0},
		{"the number after the last one", "2026-01-01T00:00:00Z", MaxSequence + 1},
	} {
		if id, err := New(at(t, tt.at), tt.n); !errors.Is(err, ErrRange) || id != 0 {
			t.Errorf("%s: New = %d, %v; want 0 and ErrRange", tt.name, id, err)
		}
	}
}

func TestParseReadsNothingButWhatStringWrites(t *testing.T) {
	for _, s := range []string{
		"", "0", "-1", "+1", " 1", "1 ", "01", "1.0", "1e9", "0x1", "1_000", "abc", "１２３",
		"4294967296", // a second without a sequence number
		"9223372036854775808", "18446744073709551617", strings.Repeat("9", 1000), "1\n", "1#ORDER", "1\x00",
		"1;a=b", "1,1", `"1"`, "x/../1", "1/", "*", "1 OR 1=1", "me", "AAAAAAAAAAAAAAAAAAAAAAAAAA",
	} {
		if id, err := Parse(s); !errors.Is(err, ErrSyntax) || id != 0 {
			t.Errorf("Parse(%.40q) = %d, %v; want 0 and ErrSyntax", s, id, err)
		}
	}
}
