package ledgertest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

// about is a format and its arguments, which say what is compared, before a text.
func about(what []any, text string) string {
	if len(what) == 0 {
		return text
	}
	return fmt.Sprintf(what[0].(string), what[1:]...) + ": " + text
}

// same expects a value; what may say of what.
func same[T comparable](t *testing.T, got, want T, what ...any) {
	t.Helper()
	if got != want {
		t.Error(about(what, fmt.Sprintf("got %+v, want %+v", got, want)))
	}
}

// check expects what is so; the text says what is not.
func check(t *testing.T, isSo bool, format string, args ...any) {
	t.Helper()
	if !isSo {
		t.Errorf(format, args...)
	}
}

// gives expects a value of a call that has no error.
func gives[T comparable](t *testing.T, want T, what ...any) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Error(about(what, fmt.Sprintf("got %+v (%v), want %+v", got, err, want)))
		}
	}
}

// hasCode expects the code of an error, "" for none, and goes on with the test. Refused ends it.
func hasCode(t *testing.T, want sale.Code, err error, what ...any) {
	t.Helper()
	if got := sale.CodeOf(err); got != want {
		t.Error(about(what, fmt.Sprintf("got %q (%v), want %q", got, err, want)))
	}
}

// hasLen expects so many elements.
func hasLen(t *testing.T, all any, want int, what ...any) {
	t.Helper()
	if got := reflect.ValueOf(all).Len(); got != want {
		t.Error(about(what, fmt.Sprintf("got %d: %+v, want %d", got, all, want)))
	}
}

// noDiff expects equal contents.
func noDiff(t *testing.T, want, got any, what ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(about(what, "(-want +got)\n"+diff))
	}
}
