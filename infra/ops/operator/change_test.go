package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"flashsale/functions/operate/handler"
	"flashsale/infra/kit/client"
	system "flashsale/infra/ops/place"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// shop is the sale moutai of 100 units, at noon, as the real OperateFunction shows and changes it.
type shop struct {
	book   *ledger.Ledger
	invoke func(payload []byte) (answer []byte, err error)
	place  *place
}

func newShop(t *testing.T) *shop {
	t.Helper()
	now := func() time.Time { return noon }
	s := &shop{book: ledger.New(newTable(), "T", ledger.Options{Now: now})}
	if _, err := s.book.Create(t.Context(), sale.Creation{SaleID: "moutai", Name: "Moutai", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 100, Shards: 2}); err != nil {
		t.Fatal(err)
	}
	h := handler.New(s.book, telemetry.New(io.Discard, "operate", now), now)
	s.invoke = func(payload []byte) ([]byte, error) { return h.Invoke(context.WithoutCancel(t.Context()), payload) }
	s.place = invoking(func(_ string, payload []byte) ([]byte, error) { return s.invoke(payload) })
	return s
}

// invoking is the environment dev, whose functions are invoked so.
func invoking(invoke func(function string, payload []byte) (answer []byte, err error)) *place {
	return &place{env: "dev", found: &system.Place{System: client.System{Client: client.New("", client.Options{Invoke: func(_ context.Context, function string, payload []byte) (client.Answer, error) {
		answer, err := invoke(function, payload)
		if err != nil {
			return client.Read(http.StatusOK, http.Header{client.FunctionError: {"Unhandled"}}, fmt.Appendf(nil, `{"errorType":"Runtime.ExitError","errorMessage":%q}`, err)), nil
		}
		return client.Read(http.StatusOK, nil, answer), nil
	}})}}}
}

// sale is the sale as it is stored.
func (s *shop) sale(t *testing.T) sale.Sale {
	t.Helper()
	one, _, err := s.book.Standing(t.Context(), "moutai")
	if err != nil {
		t.Fatal(err)
	}
	return one.Sale
}

func TestAnEnvironmentsSaleIsChangedThroughOperateFunction(t *testing.T) {
	s := newShop(t)
	saw, actor := "", s.place.found.Operator(t.Context()).Actor
	for _, tt := range []struct {
		command, want string // of the command's output, without the change's id
		flags         []string
		fails         bool
	}{
		{command: "pause", flags: []string{"-id", "p1", "-note", "$(wrong) price; `x`"}, want: "moutai has been paused since 12:00:00Z: no unit is sold until `make resume ENV=dev SALE=moutai`\nthis is change p1: with ID=p1 the same command changes nothing more\n"},
		{command: "reschedule", flags: []string{"-id", "r1", "-opens", "2026-11-11T13:00:00+01:00", "-closes", "2026-11-11T14:00:00Z"},
			want: "moutai was rescheduled at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T14:00:00Z, but it is paused: `make resume ENV=dev SALE=moutai`\nthis is change r1: with ID=r1(saw) the same command changes nothing more\n"},
		{command: "reschedule", flags: []string{"-opens", "2026-11-11T12:00:00Z", "-closes", "2026-11-11T14:00:00Z", "-until", "2026-11-11T13:00:00Z"},
			want: "NOT RESCHEDULED: until is the end of a call, and the sale has no draw\n", fails: true},
		{command: "resume", flags: []string{"-id", "r2"}, want: "moutai was resumed at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T14:00:00Z\nthis is change r2: with ID=r2(saw) the same command changes nothing more\n"},
		{command: "pause", flags: []string{"-id", "p1"}, want: "NOT PAUSED: an edit of 2026-11-11T12:00:00.002Z stands: the sale is not paused\n", fails: true},
		{command: "resume", flags: []string{"-id", "p1"}, want: "NOT RESUMED: the change id was used for another change\n", fails: true},
		{command: "describe", flags: []string{"-id", "d1", "-name", "Moutai 2026", "-about", "53 %"}, want: "moutai is shown as \"Moutai 2026\", about \"53 %\"; pages that are loaded from two seconds on have it\nthis is change d1: with ID=d1(saw) the same command changes nothing more\n"},
		{command: "add", flags: []string{"-stock", "50", "-seed-id", "second-batch"}, want: "moutai got 50 more units, 150 have been seeded in total; repeating `make add` with SEED_ID=second-batch changes nothing; `make receipt ENV=dev SALE=moutai` counts them\n"},
		{command: "add", flags: []string{"-stock", "50", "-seed-id", "second-batch"}, want: "moutai: 50 units were added earlier under the name second-batch, and nothing changed now; 150 units have been seeded in total\n"},
		{command: "withdraw", flags: []string{"-stock", "40", "-seed-id", "typo", "-note", "typed wrong"}, want: "moutai: 40 of 40 units were withdrawn, 110 stay seeded; `make receipt ENV=dev SALE=moutai` counts them\n"},
		{command: "withdraw", flags: []string{"-stock", "900", "-seed-id", "rest"}, want: "moutai: 110 of 900 units were withdrawn, 0 stay seeded; no other unit was left; `make receipt ENV=dev SALE=moutai` counts them\n"},
		{command: "withdraw", flags: []string{"-stock", "900", "-seed-id", "rest"}, want: "moutai: 110 of 900 units were withdrawn earlier under the name rest, and nothing changed now; 0 stay seeded; no other unit was left; `make receipt ENV=dev SALE=moutai` counts them\n"},
		{command: "describe", flags: []string{"-name", "x", "-seen", sale.Seen{Edits: 1}.Text("moutai")}, want: "NOT DESCRIBED: changed-meanwhile: the sale was changed meanwhile: describe by " + actor + " on 2026-11-11T12:00:00Z; look at it again\n", fails: true},
		{command: "describe", flags: []string{"-name", "x", "-seen", sale.Seen{}.Text("mutai")}, want: "NOT DESCRIBED: SEEN=\"0.0.", fails: true},
		{command: "recall", flags: []string{"-id", "x1", "-note", "soles", "-yes"}, want: "moutai was recalled at 2026-11-11T12:00:00Z: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; `make refunds ENV=dev SALE=moutai` lists what must be paid back\n" +
			"this is change x1: with ID=x1 the same command changes nothing more\n"},
		{command: "recall", flags: []string{"-id", "x2", "-note", "again", "-yes"}, want: "moutai was recalled at 2026-11-11T12:00:00Z, and nothing changed now; `make refunds ENV=dev SALE=moutai` lists what must be paid back\n" +
			"this is change x2: with ID=x2 the same command changes nothing more\n"},
		{command: "resume", want: "NOT RESUMED: recalled", fails: true},
		{command: "pause", flags: []string{"-sale", "nowhere"}, want: "NOT PAUSED: sale-not-found", fails: true},
	} {
		said, err := s.place.does(t, tt.command+" -sale moutai", tt.flags...)
		tt.want = strings.ReplaceAll(tt.want, "(saw)", " SEEN="+saw)
		if s := s.sale(t); err == nil {
			saw = s.Seen().Text("moutai")
		}
		if errors.Is(err, errNotDone) != tt.fails || err != nil && !tt.fails || !strings.HasPrefix(said, tt.want) || !tt.fails && said != tt.want {
			t.Errorf("%s: %v, %q, want %q", tt.command, err, said, tt.want)
		}
	}
	trail, _, err := s.book.Trail(t.Context(), "moutai", 100)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, c := range trail {
		if c.Actor != actor || c.Verified {
			t.Errorf("%+v was made by %q", c, c.Actor)
		}
		made = append(made, fmt.Sprintf("%s %s %q", c.Action, c.ID, c.Note))
	}
	slices.Sort(made)
	want := []string{
		`add second-batch ""`, `describe d1 ""`, `pause p1 "$(wrong) price; ` + "`x`" + `"`, `recall x1 "soles"`, `reschedule r1 ""`, `resume r2 ""`,
		`withdraw rest ""`, `withdraw typo "typed wrong"`,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

func TestALostAnswerIsAskedForAgainUnderTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		answer, lost := s.invoke, 2
		s.invoke = func(payload []byte) ([]byte, error) {
			said, err := answer(payload)
			if !bytes.Contains(payload, []byte("/changes")) {
				return said, err
			}
			if lost--; lost >= 0 {
				return nil, errors.New("the environment was lost")
			}
			return said, err
		}
		said, err := s.place.does(t, "pause -sale moutai")
		if err != nil || !strings.HasPrefix(said, "moutai has been paused since 12:00:00Z") {
			t.Errorf("%v, %q", err, said)
		}
		trail, _, err := s.book.Trail(t.Context(), "moutai", 100)
		if err != nil || len(trail) != 1 || !strings.HasSuffix(said, "\nthis is change "+trail[0].ID+": with ID="+trail[0].ID+" the same command changes nothing more\n") {
			t.Errorf("%+v, %v after %q", trail, err, said)
		}

		// No answer at all: the command names the id, with which it can be repeated.
		lost = math.MaxInt
		said, err = s.place.does(t, "resume -sale moutai")
		id := regexp.MustCompile(`^NOT RESUMED: no confirmation came: .*; the change may still happen: repeat the command with ID=([A-Z0-9]+) SEEN=([0-9a-f.]+) until it succeeds\n$`).FindStringSubmatch(said)
		if !errors.Is(err, errNotDone) || id == nil {
			t.Fatalf("%v, %q", err, said)
		}
		lost = 0
		if said, err := s.place.does(t, "resume -sale moutai -id "+id[1]+" -seen "+id[2]); err != nil {
			t.Errorf("%v, %q", err, said)
		}
		if trail, _, err := s.book.Trail(t.Context(), "moutai", 100); err != nil || len(trail) != 2 {
			t.Errorf("%+v, %v", trail, err)
		}
	})
}

func TestWhatMayPassIsAskedForAgainAndNothingElse(t *testing.T) {
	for _, tt := range []struct {
		answer string
		status int
		err    error
		passes bool
	}{
		{answer: `{"code":"busy"}`, status: 503, passes: true},
		{answer: `{"message":"Service Unavailable"}`, status: 503, passes: true},
		{answer: `{"message":"Too Many Requests"}`, status: 429, passes: true},
		{answer: `{"message":"Internal Server Error"}`, status: 500, passes: true},
		{err: errors.New("the connection broke"), passes: true},
		{err: &smithy.GenericAPIError{Code: "TooManyRequestsException", Fault: smithy.FaultClient}, passes: true},
		{err: &smithy.GenericAPIError{Code: "ServiceException", Fault: smithy.FaultServer}, passes: true},
		{err: &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}},
		{err: fmt.Errorf("invoke: %w", client.ErrNoFunctions)},
		{answer: `{"code":"internal"}`, status: 500},
		{answer: `{"code":"forbidden","detail":"this takes the role operator"}`, status: 403},
		{answer: `{"message":"Unauthorized"}`, status: 401},
		{answer: `{"message":"Not Found"}`, status: 404},
	} {
		if failure, passes := refused(client.Read(tt.status, nil, []byte(tt.answer)), tt.err); failure == nil || passes != tt.passes {
			t.Errorf("%d %s %v: %v, %t", tt.status, tt.answer, tt.err, failure, passes)
		}
	}
}

func TestResendIsAskedOfReconcileFunction(t *testing.T) {
	for answer, want := range map[string]string{
		`{"resent":5000,"receipts":[{"saleId":"moutai","pending":7000}]}`: "moutai: 5000 order messages were sent again; 7000 orders had no id: the command may be repeated for the others when the last message of each is 30 s old; " +
			"`make receipt ENV=dev SALE=moutai` counts them\n",
		`{"resent":7,"receipts":[{"saleId":"moutai","pending":7}]}`: "moutai: 7 order messages were sent again; 7 orders had no id; `make receipt ENV=dev SALE=moutai` counts them\n",
		`{"resent":7,"receipts":[]}`:                                "moutai: 7 order messages were sent again, and not every order was looked at: repeat the command for the others\n",
	} {
		p := invoking(func(function string, payload []byte) ([]byte, error) {
			if function != client.ReconcileFunction || string(payload) != `{"action":"resend","saleId":"moutai"}` {
				t.Errorf("%s is asked %s", function, payload)
			}
			return []byte(answer), nil
		})
		if said, err := p.does(t, "resend -sale moutai"); err != nil || said != want {
			t.Errorf("%v, %q, want %q", err, said, want)
		}
	}
}

func TestARecallIsAskedForOnceWithTheNumbersOfOrders(t *testing.T) {
	const orders = `{"saleId":"moutai","state":"OPEN","books":{"asOf":"2026-11-11T11:59:30Z","pending":1,"confirmed":9,"paid":5,"released":2}}`
	for name, tt := range map[string]struct {
		counted, typed, want string
		recalls              bool
	}{
		"yes":         {orders, "y\n", "moutai has 1 orders without an id yet, 2 confirmed and not paid, 5 paid and 2 released, as counted at 2026-11-11T11:59:30Z.\n", true},
		"in words":    {orders, " YES \n", "Recall moutai? [y/N] moutai was recalled at", true},
		"no":          {orders, "n\n", "NOT RECALLED: nothing was changed\n", false},
		"no answer":   {orders, "", "NOT RECALLED: nothing was changed\n", false},
		"not counted": {`{"saleId":"moutai","books":null}`, "y\n", "moutai has orders that nobody has counted yet.\n", true},
		"no numbers":  {"", "y\n", "NOT RECALLED: the orders could not be counted (", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t)
			change, changed := s.invoke, false
			s.invoke = func(payload []byte) ([]byte, error) {
				if bytes.Contains(payload, []byte(`"routeKey":"POST `)) {
					changed = true
					return change(payload)
				}
				if tt.counted == "" {
					return nil, errors.New("the environment was lost")
				}
				return json.Marshal(map[string]any{"statusCode": 200, "body": tt.counted})
			}
			stdin = strings.NewReader(tt.typed)
			defer func() { stdin = os.Stdin }()
			said, err := s.place.does(t, "recall -sale moutai -note soles")
			if (err == nil) != tt.recalls || changed != tt.recalls || !strings.Contains(said, tt.want) {
				t.Errorf("%s: %v, %q, want %q", name, err, said, tt.want)
			}
		})
	}
}
