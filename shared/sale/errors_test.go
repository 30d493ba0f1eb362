package sale

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestTheCodeOfAnError(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want Code
	}{
		{"no error has none", nil, ""},
		{"a refusal has its own", Refuse(SoldOut, "gone"), SoldOut},
		{"a failure has its own", Fail(Busy, io.EOF), Busy},
		{"a wrapped one keeps it", fmt.Errorf("shard 3: %w", Fail(Busy, io.EOF)), Busy},
		{"a joined one keeps it", errors.Join(io.EOF, Refuse(Conflicting, "")), Conflicting},
		{"the outermost one counts", Fail(Poison, Refuse(SaleNotFound, "")), Poison},
		{"a foreign one is internal", io.ErrUnexpectedEOF, Internal},
	} {
		for _, err := range []error{tt.err, AsInternal(tt.err)} {
			if got := CodeOf(err); got != tt.want {
				t.Errorf("%s: CodeOf(%v) = %q, want %q", tt.name, err, got, tt.want)
			}
		}
	}
}

func TestAnErrorTellsTheLogEverythingAndKeepsItsCause(t *testing.T) {
	e := &Error{Code: Busy, Detail: "please repeat", Err: fmt.Errorf("read: %w", io.EOF)}
	if got, want := e.Error(), "busy: please repeat: read: EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(e, io.EOF) {
		t.Error("the cause cannot be matched")
	}
	if got, want := Refuse(SoldOut, "").Error(), "sold-out"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestTheValuesOfATemplateAreThoseOfTheDetail(t *testing.T) {
	e := Refusef(InvalidRequest, "%s has at most %d days", "it", 7*day/day)
	if got := fmt.Sprint(e.Values()); got != "[it 7]" || e.Detail != "it has at most 7 days" || Refuse(SoldOut, "gone").Values() != nil {
		t.Errorf("got %s of %q", got, e.Detail)
	}
}
