package handler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// busyFor throttles the writes of one user's items.
func busyFor(user string) func(*function) {
	return func(f *function) {
		f.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
			fault := dynamotest.Fault{Kind: dynamotest.Throttle}
			for i, key := range c.Keys {
				if c.Op == "BatchExecuteStatement" && strings.HasSuffix(key, "|"+user) {
					fault.Items = append(fault.Items, i)
				}
			}
			if len(fault.Items) == 0 {
				return dynamotest.Fault{}
			}
			return fault
		}
	}
}

func TestEachBatchHasItsAnswerAndItsLine(t *testing.T) {
	newer := strings.Replace(order(alice), `"v":1`, fmt.Sprintf(`"v":%d`, sale.ReadsMessages+1), 1)
	carol := alice
	carol.SaleID, carol.User, carol.ClaimID = "cognac", "carol", "C3"
	for _, tt := range []struct {
		name    string
		prepare func(*function)
		bodies  []string
		failed  []string // the messages that come again
		fails   bool     // the invocation
		orders  []string // who has one then
		outcome sale.Code
		want    map[string]any // in the line, in addition to what every line has; of an error the start
	}{
		{"a batch of one sale, with duplicates", nil, []string{order(alice), order(bob), order(alice), order(alice)},
			nil, false, []string{"alice", "bob"}, "",
			map[string]any{"messages": 4.0, "confirmed": 2.0, "failed": 0.0, "saleId": "moutai"}},
		{"a batch of two sales", func(f *function) {
			f.Open(func(c *sale.Creation) { c.SaleID = carol.SaleID })
			f.BuyIn(carol.SaleID, carol.User, carol.ClaimID, "")
		}, []string{order(alice), order(carol)}, nil, false, []string{"alice"}, "",
			map[string]any{"messages": 2.0, "confirmed": 2.0, "failed": 0.0}},
		{"a repeat", func(f *function) { f.Confirm(alice) }, []string{order(alice)}, nil, false, []string{"alice"}, "",
			map[string]any{"messages": 1.0, "confirmed": 0.0, "failed": 0.0, "saleId": "moutai"}},
		{"nothing", nil, nil, nil, false, nil, "", map[string]any{"messages": 0.0, "failed": 0.0}},
		{"poison among others", nil, []string{"alice@example.com\n\x1b[31m", order(alice)}, []string{"m0"}, false, []string{"alice"}, sale.Poison,
			map[string]any{"messages": 2.0, "confirmed": 1.0, "failed": 1.0, "saleId": "moutai", "level": "WARN",
				"error": `message "m0": poison-message: `}},
		{"only poison", nil, []string{`{"v":1,"user":"alice@example.com"}`}, []string{"m0"}, false, nil, sale.Poison,
			map[string]any{"messages": 1.0, "failed": 1.0, "level": "WARN", "error": `message "m0": poison-message: invalid saleId`}},
		{"all that can fail beside one that does not", busyFor("bob"), []string{order(bob), order(alice), "poison", order(bob), order(nobody)},
			[]string{"m0", "m2", "m3", "m4"}, false, []string{"alice"}, sale.Busy,
			map[string]any{"messages": 5.0, "confirmed": 1.0, "failed": 4.0, "saleId": "moutai", "level": "WARN",
				"error": `message "m0": busy: `}},
		{"duplicates of one that fails", busyFor("alice"), []string{order(alice), order(alice), order(bob), order(alice), order(bob)},
			[]string{"m0", "m1", "m3"}, false, []string{"bob"}, sale.Busy,
			map[string]any{"messages": 5.0, "confirmed": 1.0, "failed": 3.0, "saleId": "moutai", "level": "WARN",
				"error": `message "m0": busy: `}},
		{"one for a newer version", nil, []string{newer, order(bob)}, []string{"m0"}, false, []string{"bob"}, sale.NewerVersion,
			map[string]any{"messages": 2.0, "confirmed": 1.0, "failed": 1.0, "saleId": "moutai", "level": "ERROR", "error": `message "m0": newer-version: `}},
		{"poison and two for a newer version", nil, []string{"poison", newer, newer}, []string{"m0", "m1", "m2"}, false, nil, sale.NewerVersion,
			map[string]any{"messages": 3.0, "failed": 3.0, "level": "ERROR", "error": `message "m2": newer-version: `}},
		{"a table that is busy for all", (*function).Throttles, []string{order(alice), "null", order(bob)}, nil, true, nil, sale.Busy,
			map[string]any{"messages": 3.0, "confirmed": 0.0, "failed": 3.0, "saleId": "moutai", "level": "WARN", "error": `message "m0": busy: `}},
		{"a failure without a code, behind poison", func(f *function) { f.over(f.Nowhere()) }, []string{"poison", order(bob)},
			nil, true, nil, sale.Internal,
			map[string]any{"messages": 2.0, "confirmed": 0.0, "failed": 2.0, "saleId": "moutai", "level": "ERROR", "error": `message "m1": internal: `}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				if tt.prepare != nil {
					tt.prepare(f)
				}
				failed, err := f.invoke(t, t.Context(), batch(t, tt.bodies...))
				if (err != nil) != tt.fails || !slices.Equal(failed, tt.failed) {
					t.Errorf("failed %v, want %v; %v", failed, tt.failed, err)
				}
				f.DB.Fault = nil
				if got := slices.Sorted(maps.Keys(f.orders())); !slices.Equal(got, tt.orders) {
					t.Errorf("%v have orders, want %v", got, tt.orders)
				}
				isLine(t, f, tt.outcome, tt.want)
			})
		})
	}
}

// isLine checks the line of the last batch.
func isLine(t *testing.T, f *function, outcome sale.Code, more map[string]any) {
	t.Helper()
	want := maps.Clone(more)
	metrics := map[string]string{"failed": "Count by service"}
	if want["confirmed"] != nil {
		metrics["confirmed"] = "Count by service"
		want["orders"] = f.Logged(t, "orders") // see TestTheLogCanReplaceTheClaimsOfABatch
	}
	if n, _ := want["confirmed"].(float64); n > 0 {
		metrics["acceptToConfirmMs"] = "Milliseconds by service"
		want["acceptToConfirmMs"] = 1000.0 // the claims are a second old
		if outcome == sale.Busy {          // the others' tries come on top
			want["acceptToConfirmMs"] = f.Logged(t, "acceptToConfirmMs")
		}
	}
	f.IsLine(t, outcome, want, metrics)
}

func TestTheLogCanReplaceTheClaimsOfABatch(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		if _, err := f.Ledger().Add(t.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 1}); err != nil {
			t.Fatal(err)
		}
		f.Tamper(fmt.Sprint("CLAIM#moutai#", sale.BucketOf(alice.User, f.Claim(alice.User).Buckets)), alice.User, "units", 2)
		whole := f.Buy(strings.Repeat("\U0001F377", sale.MaxUser), "CLAIM7", "key-7")
		for _, messages := range [][]string{{order(whole), order(nobody), order(alice)}, {order(whole)}} { // and again, at a redelivery
			f.Log.Reset()
			if _, err := f.invoke(t, t.Context(), batch(t, messages...)); err != nil {
				t.Fatal(err)
			}
			var want []any
			for _, of := range []ledger.ClaimRef{whole, alice}[:min(2, len(messages))] {
				c := f.Claim(of.User)
				one := map[string]any{
					"saleId": c.SaleID, "user": c.User, "claimId": c.ID, "orderId": orderid.String(c.OrderID),
					"shard": float64(c.Shard), "acceptedAt": float64(c.AcceptedAt.UnixMilli()),
				}
				if c.RequestKey != "" {
					one["requestKey"] = c.RequestKey
				}
				if c.Units != 0 {
					one["units"] = float64(c.Units)
				}
				want = append(want, one)
			}
			if diff := cmp.Diff(want, f.Logged(t, "orders")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

func TestWhatIsNoBatchIsLoggedAndFails(t *testing.T) {
	for _, text := range []string{``, `["alice@example.com"]`, `{`, `{} {}`, `{"Records":{}}`, `{"Records":[7]}`, `{"Records":[{"body":7}]}`, `{"Records":[{"body":"x"},]}`} {
		in(t, func(t *testing.T, f *function) {
			if failed, err := f.invoke(t, t.Context(), []byte(text)); err == nil {
				t.Errorf("%s: failed %v and no error", text, failed)
			}
			isLine(t, f, sale.Internal, map[string]any{"messages": 0.0, "failed": 0.0, "level": "ERROR", "error": "decode batch: "})
		})
	}
}

// A crowd reads the sale's item, so finalize does not if the messages say how many buckets the
// sale has.
func TestTheSaleIsReadOnlyForAMessageThatDoesNotTellItsBuckets(t *testing.T) {
	for body, want := range map[string]int{
		`{"v":1,"saleId":"moutai","user":"alice","claimId":"` + alice.ClaimID + `","buckets":1}`: 0,
		order(alice): 1,
	} {
		in(t, func(t *testing.T, f *function) {
			reads := 0
			f.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
				if c.Keys[0] == "SALE#moutai|SALE" {
					reads++
				}
				return dynamotest.Fault{}
			}
			if failed, err := f.invoke(t, t.Context(), batch(t, body)); err != nil || len(failed) > 0 || reads != want {
				t.Errorf("%s: %d reads of the sale, want %d; failed %v, %v", body, reads, want, failed, err)
			}
		})
	}
}
