package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

// Which status a code has is in the documents of the APIs, each of whose outcomes happens.
func TestAProblemShowsItsCodeAndNoCause(t *testing.T) {
	shown := map[sale.Code]sale.Code{sale.NewerVersion: sale.Busy, sale.Poison: sale.Internal}
	for code := range kinds {
		shown[code] = code
	}
	for code, want := range shown {
		r := Problem(fmt.Errorf("wrapped: %w", sale.Fail(code, errors.New("secret"))), "")
		var p struct {
			Type, Title string
			Status      int
			Code        sale.Code
		}
		if err := json.Unmarshal([]byte(r.Body), &p); err != nil {
			t.Fatal(err)
		}
		if status := kinds[want].status; r.StatusCode != status || p.Status != status || p.Code != want || p.Title == "" || p.Type != "urn:flashsale:problem:"+string(want) {
			t.Errorf("%s: status %d, body %s; want %d and %s", code, r.StatusCode, r.Body, status, want)
		}
		if strings.Contains(r.Body, "secret") || strings.Contains(r.Body, "wrapped") {
			t.Errorf("the cause leaks: %s", r.Body)
		}
		if r.Headers.ContentType != "application/problem+json" || r.Headers.CacheControl != "no-store" {
			t.Errorf("%s: headers %+v", code, r.Headers)
		}
		wait := r.Headers.RetryAfter
		if told := wait != ""; told != (r.StatusCode == 503 || r.StatusCode == 429 || code == sale.OrderPending) || told && wait != "1" && wait != "2" && wait != "3" {
			t.Errorf("%s: Retry-After %q with status %d, want 1 to 3 seconds or none", code, wait, r.StatusCode)
		}
	}
}

func TestAForeignErrorTellsNothing(t *testing.T) {
	for _, err := range []error{
		errors.New("ProvisionedThroughputExceededException: table ledger-7, request ABC"),
		fmt.Errorf("panic: %v", "runtime error: index out of range [5]"),
		&sale.Error{Code: sale.Internal, Err: errors.New("table ledger-7")},
		&sale.Error{Code: "made-up", Detail: "table ledger-7"},
	} {
		r := Problem(err, "")
		want := `{"type":"urn:flashsale:problem:internal","title":"Internal error","status":500,"code":"internal"}`
		if r.StatusCode != 500 || r.Body != want {
			t.Errorf("%v: %d %s, want 500 %s", err, r.StatusCode, r.Body, want)
		}
	}
}

func TestARefusalSaysWhatTheBuyerNeeds(t *testing.T) {
	claim := sale.Claim{SaleID: "moutai", User: "alice", ID: "C1", Shard: 3, RequestKey: "k", OrderID: 406709376884146177,
		AcceptedAt: time.Date(2026, 11, 11, 12, 0, 0, 7e6, time.UTC)}
	r := Problem(&sale.Error{Code: sale.AlreadyOrdered, Detail: "the user has already ordered in this sale", Claim: &claim}, "moutai")
	want := `{"type":"urn:flashsale:problem:already-ordered","title":"Already ordered","status":409,"code":"already-ordered",` +
		`"detail":"the user has already ordered in this sale","order":"/sales/moutai/orders/me",` +
		`"claim":{"claimId":"C1","saleId":"moutai","state":"CONFIRMED","acceptedAt":"2026-11-11T12:00:00.007Z","orderId":"406709376884146177"}}`
	if diff := cmp.Diff(want, r.Body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	// Of a payment that goes back later reports are applied to its refund alone.
	claim.Payment, claim.Returned, claim.Refunds = "stripe#pi_1", sale.Returned{MoneyVersion: 1, Back: 1}, []string{"stripe#pi_1"}
	if r = Problem(&sale.Error{Code: sale.AlreadyOrdered, Claim: &claim}, "moutai"); strings.Contains(r.Body, "refund") {
		t.Errorf("what its claim says of the money may be out of date: %s", r.Body)
	}
	r = Problem(&sale.Error{Code: sale.AlreadyOrdered, Detail: "the user has already ordered in another sale of its group", OtherSale: "size-39"}, "size-38")
	want = `{"type":"urn:flashsale:problem:already-ordered","title":"Already ordered","status":409,"code":"already-ordered",` +
		`"detail":"the user has already ordered in another sale of its group","order":"/sales/size-39/orders/me","saleId":"size-39"}`
	if diff := cmp.Diff(want, r.Body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	r = Problem(&sale.Error{Code: sale.ChangedMeanwhile, Meanwhile: &sale.Meanwhile{ReadVersion: "1.0.x"}}, "")
	if !strings.Contains(r.Body, `"version":"1.0.x"`) || strings.Contains(r.Body, `"change":`) {
		t.Errorf("a change that nobody can name: %s", r.Body)
	}
	r = Problem(&sale.Error{Code: sale.NotOpen, RetryAfter: 90*time.Second + 1}, "moutai")
	if got := r.Headers.RetryAfter; got != "91" {
		t.Errorf("Retry-After %q, want 91", got)
	}
	r = Problem(sale.Refuse(sale.SaleNotFound, "no such sale"), "nosuch")
	if strings.Contains(r.Body, "orders/me") {
		t.Errorf("a sale that does not exist has orders: %s", r.Body)
	}
}

func TestSoldOutSaysWhetherUnitsMayReturn(t *testing.T) {
	final := Problem(sale.Refuse(sale.SoldOut, "every unit has been sold"), "moutai")
	open := Problem(&sale.Error{Code: sale.SoldOut, Detail: "every unit has been sold", MayReturn: true}, "moutai")
	want := strings.Replace(final.Body, `sold",`, `sold","mayReturn":true,`, 1)
	if wait, _ := strconv.Atoi(open.Headers.RetryAfter); open.Body != want || wait < 60 || wait > 90 || final.Headers.RetryAfter != "" {
		t.Errorf("%s, Retry-After %q; want %s", open.Body, open.Headers.RetryAfter, want)
	}
}
