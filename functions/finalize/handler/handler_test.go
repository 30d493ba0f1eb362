package handler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestABatchIsConfirmedInOneCallAndCountedByClaims(t *testing.T) {
	f := newFunction(t)
	failed, err := f.invoke(t, t.Context(), batch(t, order(alice), order(bob), order(alice), order(alice)))
	if err != nil || len(failed) != 0 {
		t.Errorf("failed %v, %v; want none", failed, err)
	}
	if diff := cmp.Diff([][]ledger.ClaimRef{{alice, bob, alice, alice}}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	for name, want := range map[string]any{"messages": 4.0, "confirmed": 2.0, "failed": 0.0, "outcome": "ok", "level": "INFO"} {
		if got := f.Logged(t, name); got != want {
			t.Errorf("logged %s = %v, want %v", name, got, want)
		}
	}
	if ms, _ := f.Logged(t, "acceptToConfirmMs").(float64); ms < 1000 {
		t.Errorf("acceptToConfirmMs = %v, want at least 1,000", ms)
	}
}

func TestTheSameBatchAgainChangesNothing(t *testing.T) {
	f := newFunction(t)
	messages := batch(t, order(alice), order(bob))
	var first map[ledger.ClaimRef]uint64
	for round := range 3 {
		if failed, err := f.invoke(t, t.Context(), messages); err != nil || len(failed) != 0 {
			t.Errorf("round %d: failed %v, %v; want none", round, failed, err)
		}
		if round == 0 {
			first = map[ledger.ClaimRef]uint64{alice: f.orders[alice], bob: f.orders[bob]}
			continue
		}
		if diff := cmp.Diff(first, f.orders); diff != "" {
			t.Errorf("order ids (-first +now):\n%s", diff)
		}
		if f.Logged(t, "confirmed") != 0.0 || f.Logged(t, "acceptToConfirmMs") != nil {
			t.Errorf("a repeat counts as a confirmation: %s", f.Log.String())
		}
	}
}

func TestExactlyTheFailedMessagesComeAgain(t *testing.T) {
	f := newFunction(t)
	f.faults[bob] = sale.Fail(sale.Busy, errors.New("throttled"))
	failed, err := f.invoke(t, t.Context(), batch(t, order(bob), order(alice), "poison", order(bob), order(nobody)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m0", "m2", "m3", "m4"}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if f.orders[alice] == 0 || f.orders[bob] != 0 {
		t.Errorf("orders %v, want one of alice only", f.orders)
	}
	for name, want := range map[string]any{"failed": 4.0, "confirmed": 1.0, "outcome": "busy", "level": "WARN"} {
		if got := f.Logged(t, name); got != want {
			t.Errorf("logged %s = %v, want %v", name, got, want)
		}
	}
}

func TestDuplicatesShareTheFateOfTheirOwnClaim(t *testing.T) {
	for _, busy := range []ledger.ClaimRef{alice, bob} {
		f := newFunction(t)
		f.faults[busy] = sale.Fail(sale.Busy, errors.New("throttled"))
		sent := []ledger.ClaimRef{alice, alice, bob, alice, bob}
		want, bodies := []string{}, []string{}
		for i, ref := range sent {
			bodies = append(bodies, order(ref))
			if ref == busy {
				want = append(want, "m"+string(rune('0'+i)))
			}
		}
		failed, err := f.invoke(t, t.Context(), batch(t, bodies...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, failed); diff != "" {
			t.Errorf("with %s busy, failed (-want +got):\n%s", busy.User, diff)
		}
	}
}

func TestEveryShapeOfPoisonFailsAlone(t *testing.T) {
	tests := []struct{ name, body string }{
		{"nothing", ""},
		{"text", "hello"},
		{"null", "null"},
		{"an array", "[]"},
		{"a number", "1"},
		{"a string", `"x"`},
		{"a cut message", `{"v":1,"saleId":"moutai"`},
		{"version 0", `{"v":0,"saleId":"moutai","user":"alice","claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA"}`},
		{"no version", `{"saleId":"moutai","user":"alice","claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA"}`},
		{"no claim", `{"v":1,"saleId":"moutai","user":"alice"}`},
		{"a null user", `{"v":1,"saleId":"moutai","user":null,"claimId":"C"}`},
		{"a number as user", `{"v":1,"saleId":"moutai","user":1,"claimId":"C"}`},
		{"a user with a control character", `{"v":1,"saleId":"moutai","user":"a\u0000","claimId":"C"}`},
		{"a sale with a separator", `{"v":1,"saleId":"moutai#STOCK","user":"alice","claimId":"C"}`},
		{"a claim of 65 characters", `{"v":1,"saleId":"moutai","user":"alice","claimId":"` + strings.Repeat("c", 65) + `"}`},
		{"data behind", `{"v":1,"saleId":"moutai","user":"alice","claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA"}x`},
		{"a quarter of a megabyte", strings.Repeat("x", 256<<10)},
		{"a claim that was never made", `{"v":1,"saleId":"moutai","user":"nobody","claimId":"C"}`},
		{"another claim of the user", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for at := range 3 {
				f := newFunction(t)
				bodies := []string{order(alice), order(bob)}
				bodies = append(bodies[:min(at, 2)], append([]string{tt.body}, bodies[min(at, 2):]...)...)
				failed, err := f.invoke(t, t.Context(), batch(t, bodies...))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"m" + string(rune('0'+at))}, failed); diff != "" {
					t.Errorf("failed (-want +got):\n%s", diff)
				}
				if f.confirmed() != 2 || len(f.orders) != 2 {
					t.Errorf("orders %v, want those of alice and bob", f.orders)
				}
				if got := f.Logged(t, "outcome"); got != "poison-message" {
					t.Errorf("outcome %v, want poison-message", got)
				}
				if f.Log.Len() > 8<<10 {
					t.Errorf("the log line has %d bytes", f.Log.Len())
				}
			}
		})
	}
}

func TestABatchOfPoisonOnlyTouchesNothingAndIsNoFunctionError(t *testing.T) {
	f := newFunction(t)
	failed, err := f.invoke(t, t.Context(), batch(t, "", "null"))
	if err != nil || len(failed) != 2 {
		t.Errorf("%d messages failed with the error %v, want both and none", len(failed), err)
	}
	if len(f.calls) != 0 {
		t.Errorf("%d calls, want none", len(f.calls))
	}
}

func TestAMessageForANewerReleaseIsLeftToItAndIsNoFunctionError(t *testing.T) {
	newer := strings.Replace(order(alice), `"v":1`, fmt.Sprintf(`"v":%d`, sale.ReadsMessages+1), 1)
	for _, tt := range []struct {
		bodies, failed []string
		confirmed      int
	}{{[]string{newer, order(bob)}, []string{"m0"}, 1}, {[]string{"poison", newer, newer}, []string{"m0", "m1", "m2"}, 0}} {
		f := newFunction(t)
		failed, err := f.invoke(t, t.Context(), batch(t, tt.bodies...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.failed, failed); diff != "" {
			t.Errorf("failed (-want +got):\n%s", diff)
		}
		if f.orders[alice] != 0 || f.confirmed() != tt.confirmed {
			t.Errorf("orders %v, want %d and none of alice", f.orders, tt.confirmed)
		}
		for name, want := range map[string]any{"outcome": "newer-version", "result": "newer-version", "level": "ERROR"} {
			if got := f.Logged(t, name); got != want {
				t.Errorf("logged %s = %v, want %v", name, got, want)
			}
		}
	}
}

func TestPoisonDoesNotHideThatEveryOtherMessageFails(t *testing.T) {
	f := newFunction(t)
	f.faults[alice] = errors.New("a foreign failure")
	if _, err := f.invoke(t, t.Context(), batch(t, "null", order(alice))); !errors.Is(err, errAllFailed) {
		t.Errorf("err = %v, want %v", err, errAllFailed)
	}
}

func TestWhenEveryMessageFailsTheInvocationFails(t *testing.T) {
	f := newFunction(t)
	f.faults[alice] = sale.Fail(sale.Busy, errors.New("down"))
	f.faults[bob] = errors.New("a foreign failure")
	if _, err := f.invoke(t, t.Context(), batch(t, order(alice), order(bob))); !errors.Is(err, errAllFailed) {
		t.Errorf("err = %v, want %v", err, errAllFailed)
	}
	if f.Logged(t, "outcome") != "internal" || f.Logged(t, "level") != "ERROR" {
		t.Errorf("the worst failure is not told: %s", f.Log.String())
	}
}

func TestAnEmptyBatchIsDone(t *testing.T) {
	for _, empty := range []string{`{"Records":[]}`, `{"Records":null}`, `{}`} {
		f := newFunction(t)
		if failed, err := f.invoke(t, t.Context(), []byte(empty)); err != nil || len(failed) != 0 {
			t.Errorf("%s: failed %v, %v; want none", empty, failed, err)
		}
		if len(f.calls) != 0 {
			t.Errorf("%s: %d calls, want none", empty, len(f.calls))
		}
	}
}

func TestAPanicFailsTheWholeBatch(t *testing.T) {
	f := newFunction(t)
	f.panics = true
	if failed, err := f.invoke(t, t.Context(), batch(t, order(alice), order(bob))); err == nil {
		t.Errorf("failed %v and no error: the batch would be deleted", failed)
	}
	if f.Logged(t, "level") != "ERROR" || f.Logged(t, "outcome") != "internal" {
		t.Errorf("log %s", f.Log.String())
	}
}

func TestConfirmingEndsHalfASecondBeforeTheDeadline(t *testing.T) {
	f := newFunction(t)
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	if _, err := f.invoke(t, ctx, batch(t, order(alice))); err != nil {
		t.Fatal(err)
	}
	if want := deadline.Add(-invocation.Margin); !f.deadline.Equal(want) {
		t.Errorf("the ledger had until %s, want %s", f.deadline, want)
	}
}
