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

func TestADetailInAnotherLanguageHasTheSameValues(t *testing.T) {
	german := map[string]string{"gone": "weg", "at most %d": "höchstens %d"}
	for want, refusal := range map[string]*Error{"weg": Refuse(SoldOut, "gone"), "höchstens 5": Refusef(InvalidRequest, "at most %d", 5)} {
		if got := refusal.DetailBy(func(english string) string { return german[english] }); got != want {
			t.Errorf("%q: %q, want %q", refusal.Detail, got, want)
		}
	}
}
