package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
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
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// shop is the sale moutai of 100 units, at noon, as the real OperateFunction shows and changes it.
type shop struct {
	db     *dynamotest.DB
	book   *ledger.Ledger
	invoke func(payload []byte) (answer []byte, err error)
	place  *place
}

func newShop(t *testing.T) *shop {
	t.Helper()
	now := func() time.Time { return noon }
	s := &shop{db: newTable()}
	s.book = ledger.New(s.db, "T", ledger.Options{Now: now})
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
	return &place{where: &system.Flags{Env: "dev"}, found: &system.Place{System: client.System{Client: client.New("", client.Options{Invoke: func(_ context.Context, function string, payload []byte) (client.Answer, error) {
		answer, err := invoke(function, payload)
		if err != nil {
			return client.Read(http.StatusOK, http.Header{client.FunctionError: {"Unhandled"}}, fmt.Appendf(nil, `{"errorType":"Runtime.ExitError","errorMessage":%q}`, err)), nil
		}
		return client.Read(http.StatusOK, nil, answer), nil
	}})}}}
}

// desk is the table with an OperateFunction over it.
func desk(t *testing.T, db *dynamotest.DB, book *ledger.Ledger) *place {
	t.Helper()
	h := handler.New(book, telemetry.New(io.Discard, "operate", time.Now), func() time.Time { return time.Now().Round(0) })
	p := invoking(func(_ string, payload []byte) ([]byte, error) {
		return h.Invoke(context.WithoutCancel(t.Context()), payload)
	})
	p.db = db
	return p
}

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
		command string
		flags   []string
		want    string // of what is said, after what was looked at
		code    int
	}{
		{"pause", []string{"--id", "p1", "--note", "$(wrong) price; `x`"}, "moutai has been paused since 12:00:00Z: no unit is sold until `flashsale sale resume moutai --env dev`\nthis is change p1: with --id p1 the same command changes nothing more\n", 0},
		{"reschedule", []string{"--id", "r1", "--opens", "2026-11-11T13:00:00+01:00", "--closes", "2026-11-11T13:59:59.999Z"},
			"moutai was rescheduled at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T13:59:59.999Z, but it is paused: `flashsale sale resume moutai --env dev`\nthis is change r1: with --id r1(saw) the same command changes nothing more\n", 0},
		{"reschedule", []string{"--opens", "2026-11-11T12:00:00Z", "--closes", "2026-11-11T14:00:00Z", "--until", "2026-11-11T13:00:00Z"},
			"flashsale: NOT RESCHEDULED: until is the end of a call, and the sale has no draw\n", 1},
		{"resume", []string{"--id", "r2"}, "moutai was resumed at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T13:59:59.999Z\nthis is change r2: with --id r2(saw) the same command changes nothing more\n", 0},
		{"pause", []string{"--id", "p1"}, "flashsale: NOT PAUSED: an edit of 2026-11-11T12:00:00.002Z stands: the sale is not paused\n", 1},
		{"resume", []string{"--id", "p1"}, "flashsale: NOT RESUMED: the change id was used for another change\n", 1},
		{"describe", []string{"--id", "d1", "--name", "Moutai 2026", "--about", "53 %"}, "moutai is shown as \"Moutai 2026\", about \"53 %\"; pages that are loaded from two seconds on have it\nthis is change d1: with --id d1(saw) the same command changes nothing more\n", 0},
		{"add", []string{"--stock", "50", "--id", "second-batch"}, "moutai got 50 more units, 150 have been seeded in total; repeating it with --id second-batch changes nothing; `flashsale books receipt moutai --env dev` counts them\n", 0},
		{"add", []string{"--stock", "50", "--id", "second-batch"}, "moutai: 50 units were added earlier under the name second-batch, and nothing changed now; 150 units have been seeded in total\n", 0},
		{"withdraw", []string{"--stock", "40", "--id", "typo", "--note", "typed wrong"}, "moutai: 40 of 40 units were withdrawn, 110 stay seeded; `flashsale books receipt moutai --env dev` counts them\n", 0},
		{"withdraw", []string{"--stock", "900", "--id", "rest"}, "moutai: 110 of 900 units were withdrawn, 0 stay seeded; no other unit was left; `flashsale books receipt moutai --env dev` counts them\n", 0},
		{"withdraw", []string{"--stock", "900", "--id", "rest"}, "moutai: 110 of 900 units were withdrawn earlier under the name rest, and nothing changed now; 0 stay seeded; no other unit was left; `flashsale books receipt moutai --env dev` counts them\n", 0},
		{"describe", []string{"--name", "x", "--seen", sale.Seen{Edits: 1}.Text("moutai")}, "flashsale: NOT DESCRIBED: changed-meanwhile: the sale was changed meanwhile: describe by " + actor + " on 2026-11-11T12:00:00Z; look at it again\n", 1},
		{"describe", []string{"--name", "x", "--seen", sale.Seen{}.Text("mutai")}, "flashsale: --seen is \"0.0.", 64},
		{"recall", []string{"--id", "x1", "--note", "soles", "--yes"}, "moutai was recalled at 2026-11-11T12:00:00Z: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; `flashsale refund list moutai --env dev` lists what must be paid back\n" +
			"this is change x1: with --id x1 the same command changes nothing more\n", 0},
		{"recall", []string{"--id", "x2", "--note", "again", "--yes"}, "moutai was recalled at 2026-11-11T12:00:00Z, and nothing changed now; `flashsale refund list moutai --env dev` lists what must be paid back\n" +
			"this is change x2: with --id x2 the same command changes nothing more\n", 0},
		{"pause", []string{"--id", "p9"}, "moutai has been paused since 12:00:00Z: no unit is sold any more, because it was recalled\nthis is change p9: with --id p9 the same command changes nothing more\n", 0},
		{"resume", nil, "flashsale: NOT RESUMED: recalled", 1},
		{"pause", []string{"--sale", "nowhere"}, "flashsale: NOT PAUSED: sale-not-found", 1},
	} {
		if !slices.Contains(tt.flags, "--sale") {
			tt.flags = append(tt.flags, "--sale", "moutai")
		}
		said, code := s.place.does(t, "sale "+tt.command, tt.flags...)
		tt.want = strings.ReplaceAll(tt.want, "(saw)", " --seen "+saw)
		if s := s.sale(t); code == cli.ExitFine {
			saw = s.Seen().Text("moutai")
		}
		if said = looked.ReplaceAllString(said, ""); code != tt.code || !strings.HasPrefix(said, tt.want) || code == cli.ExitFine && said != tt.want {
			t.Errorf("%s: exit %d, %q, want %q", tt.command, code, said, tt.want)
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
		`add second-batch ""`, `describe d1 ""`, `pause p1 "$(wrong) price; ` + "`x`" + `"`, `pause p9 ""`, `recall x1 "soles"`, `reschedule r1 ""`, `resume r2 ""`,
		`withdraw rest ""`, `withdraw typo "typed wrong"`,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

var looked = regexp.MustCompile(`(?m)^moutai is \w+, sells from .*\n`)

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
		again := regexp.MustCompile(`^OperateFunction answered .*; asking again for 1m0s\n`)
		said, code := s.place.does(t, "sale pause moutai")
		if said = again.ReplaceAllString(said, ""); code != cli.ExitFine || !strings.HasPrefix(said, "moutai has been paused since 12:00:00Z") {
			t.Errorf("exit %d, %q", code, said)
		}
		trail, _, err := s.book.Trail(t.Context(), "moutai", 100)
		if err != nil || len(trail) != 1 || !strings.HasSuffix(said, "\nthis is change "+trail[0].ID+": with --id "+trail[0].ID+" the same command changes nothing more\n") {
			t.Errorf("%+v, %v after %q", trail, err, said)
		}

		// No answer at all: the command names the id, with which it can be repeated.
		lost = math.MaxInt
		said, code = s.place.does(t, "sale resume moutai")
		said = again.ReplaceAllString(looked.ReplaceAllString(said, ""), "")
		id := regexp.MustCompile(`^flashsale: no confirmation came: .*; the change may still happen: repeat the command with --id ([A-Z0-9]+) --seen ([0-9a-f.]+) until it succeeds\n$`).FindStringSubmatch(said)
		if code != cli.ExitUnknown || id == nil {
			t.Fatalf("exit %d, %q", code, said)
		}
		lost = 0
		if said, code := s.place.does(t, "sale resume moutai --id "+id[1]+" --seen "+id[2]); code != cli.ExitFine {
			t.Errorf("exit %d, %q", code, said)
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
		{err: &smithy.GenericAPIError{Code: "AccessDeniedException"}}, // which the SDK does not know whose fault it is
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

func TestAChangeThatIsMadeIsNotDeniedIfItsOutputIsLost(t *testing.T) {
	s := newShop(t)
	_, lost := io.Pipe()
	lost.CloseWithError(nil) // each write fails
	said, code := s.place.at(t, nil, lost, "sale", "pause", "moutai")
	if code != cli.ExitUnknown || strings.Contains(said, "NOT PAUSED") || !strings.Contains(said, "this is change") || !s.sale(t).Paused {
		t.Errorf("exit %d, %q", code, said)
	}
}

func TestASaleWithoutANameIsShownByItsID(t *testing.T) {
	if said, code := newShop(t).place.does(t, "sale describe moutai --name="); code != cli.ExitFine || !strings.Contains(said, "moutai is shown as \"moutai\"; ") {
		t.Errorf("exit %d, %q", code, said)
	}
}

func TestResendIsAskedOfReconcileFunction(t *testing.T) {
	for answer, want := range map[string]string{
		`{"resent":5000,"receipts":[{"saleId":"moutai","pending":7000}]}`: "moutai: 5000 order messages were sent again; 7000 orders had no id: the command may be repeated for the others when the last message of each is 30 s old; " +
			"`flashsale books receipt moutai --env dev` counts them\n",
		`{"resent":7,"receipts":[{"saleId":"moutai","pending":7}]}`: "moutai: 7 order messages were sent again; 7 orders had no id; `flashsale books receipt moutai --env dev` counts them\n",
		`{"resent":7,"receipts":[]}`:                                "moutai: 7 order messages were sent again, and not every order was looked at: repeat the command for the others; `flashsale books receipt moutai --env dev` counts them\n",
	} {
		p := invoking(func(function string, payload []byte) ([]byte, error) {
			if function != client.ReconcileFunction || string(payload) != `{"action":"resend","saleId":"moutai"}` {
				t.Errorf("%s is asked %s", function, payload)
			}
			return []byte(answer), nil
		})
		if said, code := p.does(t, "order resend --sale moutai"); code != cli.ExitFine || said != want {
			t.Errorf("exit %d, %q, want %q", code, said, want)
		}
	}
}

// seat is a terminal at which somebody types.
type seat struct{ io.Reader }

func (seat) OnTerminal() bool { return true }

func TestARecallIsAskedForOnceWithTheNumbersOfOrders(t *testing.T) {
	const orders = `{"saleId":"moutai","state":"OPEN","books":{"asOf":"2026-11-11T11:59:30Z","pending":1,"confirmed":12,"paid":5,"unpaid":2,"released":4},"payWithin":60}`
	for name, tt := range map[string]struct {
		counted, typed, want string
		recalls              bool
	}{
		"yes":         {orders, "y\n", "moutai has 1 orders without an id yet, 2 confirmed and not paid, 5 paid and 5 over, as counted at 2026-11-11T11:59:30Z.\n", true},
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
			said, code := s.place.at(t, seat{strings.NewReader(tt.typed)}, nil, "sale", "recall", "moutai", "--note", "soles")
			asked := tt.counted == "" || strings.HasPrefix(said, s.place.name()+":\nmoutai has ")
			if (code == cli.ExitFine) != tt.recalls || changed != tt.recalls || !asked || !strings.Contains(said, tt.want) {
				t.Errorf("%s: exit %d, %q, want %q, asked with the name %s", name, code, said, tt.want, s.place.name())
			}
		})
	}
}
