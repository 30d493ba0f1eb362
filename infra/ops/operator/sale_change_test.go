package operator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

var looked = regexp.MustCompile(`(?m)^moutai is \w+, sells from .*\n`)

func TestASaleIsChangedThroughOperateFunction(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create(sale.Creation{SaleID: "moutai", Name: "Moutai", Stock: 100, Shards: 2})
		saw, actor := "", w.target.found.Operator(t.Context()).Actor
		of := func(id string) string {
			return "this is change " + id + ": with --id " + id + "(saw) the same command changes nothing more\n"
		}
		const counts = "; `flashsale books receipt moutai --env dev` counts them\n"
		for _, tt := range []struct {
			command, want string // of what is said, after what was looked at
			code          int
		}{
			{"pause --id p1 --note $(wrong);`x`", "moutai has been paused since 12:00:00Z: no unit is sold until `flashsale sale resume moutai --env dev`\nthis is change p1: with --id p1 the same command changes nothing more\n", 0},
			{"reschedule --id r1 --opens 2026-11-11T13:00:00+01:00 --closes 2026-11-11T13:59:59.999Z",
				"moutai was rescheduled at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T13:59:59.999Z, but it is paused: `flashsale sale resume moutai --env dev`\n" + of("r1"), 0},
			{"reschedule --opens 2026-11-11T12:00:00Z --closes 2026-11-11T14:00:00Z --until 2026-11-11T13:00:00Z", "flashsale: NOT RESCHEDULED: until is the end of a call, and the sale has no draw\n", 1},
			{"resume --id r2", "moutai was resumed at 12:00:00Z: it sells from 2026-11-11T12:00:00Z to 2026-11-11T13:59:59.999Z\n" + of("r2"), 0},
			{"pause --id p1", "flashsale: NOT PAUSED: an edit of 2026-11-11T12:00:00.002Z stands: the sale is not paused\n", 1},
			{"resume --id p1", "flashsale: NOT RESUMED: the change id was used for another change\n", 1},
			{"describe --id d1 --name M26 --about 53%", "moutai is shown as \"M26\", about \"53%\"; pages that are loaded from two seconds on have it\n" + of("d1"), 0},
			{"add --stock 50 --id more", "moutai got 50 more units, 150 have been seeded in total; repeating it with --id more changes nothing" + counts, 0},
			{"add --stock 50 --id more", "moutai: 50 units were added earlier under the name more, and nothing changed now; 150 units have been seeded in total\n", 0},
			{"withdraw --stock 40 --id typo --note wrong", "moutai: 40 of 40 units were withdrawn, 110 stay seeded" + counts, 0},
			{"withdraw --stock 900 --id rest", "moutai: 110 of 900 units were withdrawn, 0 stay seeded; no other unit was left" + counts, 0},
			{"withdraw --stock 900 --id rest", "moutai: 110 of 900 units were withdrawn earlier under the name rest, and nothing changed now; 0 stay seeded; no other unit was left" + counts, 0},
			{"describe --name x --version " + sale.ReadVersion{Edits: 1}.Text("moutai"), "flashsale: NOT DESCRIBED: changed-meanwhile: the sale was changed meanwhile: describe by " + actor + " on 2026-11-11T12:00:00Z; look at it again\n", 1},
			{"recall --id x1 --note soles --yes", "moutai was recalled at 2026-11-11T12:00:00Z: no unit is sold any more, and within minutes each order is cancelled or its payment is a refund due; `flashsale refund list moutai --env dev` lists what must be paid back\n" +
				"this is change x1: with --id x1 the same command changes nothing more\n", 0},
			{"recall --id x2 --note again --yes", "moutai was recalled at 2026-11-11T12:00:00Z, and nothing changed now; `flashsale refund list moutai --env dev` lists what must be paid back\n" +
				"this is change x2: with --id x2 the same command changes nothing more\n", 0},
			{"pause --id p9", "moutai has been paused since 12:00:00Z: no unit is sold any more, because it was recalled\nthis is change p9: with --id p9 the same command changes nothing more\n", 0},
		} {
			said, code := w.target.does(t, "sale "+tt.command, "--sale", "moutai")
			tt.want = strings.ReplaceAll(tt.want, "(saw)", " --version "+saw)
			if one, _, err := w.book.Standing(t.Context(), "moutai"); err == nil && code == cli.ExitFine {
				saw = one.Sale.ReadVersion().Text("moutai")
			}
			if said = looked.ReplaceAllString(said, ""); code != tt.code || said != tt.want {
				t.Errorf("%s: exit %d, %q, want %q", tt.command, code, said, tt.want)
			}
		}
	})
}

func TestALostAnswerIsAskedForAgainUnderTheSameID(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		answer, lost := w.invoke, 2
		w.invoke = func(payload []byte) ([]byte, error) {
			said, err := answer(payload)
			if lost--; bytes.Contains(payload, []byte("/changes")) && lost >= 0 {
				return nil, errors.New("the environment was lost")
			}
			return said, err
		}
		made := func(n int) string {
			trail, _, err := w.book.Trail(t.Context(), "moutai", 100)
			if err != nil || len(trail) != n {
				t.Fatalf("%+v, %v", trail, err)
			}
			return trail[0].ID
		}
		said := w.says("sale pause moutai", cli.ExitFine, "OperateFunction answered ", "; asking again for 1m0s\nmoutai has been paused since 12:00:0")
		contains(t, said, "\nthis is change "+made(1)+": with --id "+made(1)+" the same command changes nothing more\n")

		// No answer at all: the command names the id, with which it can be repeated.
		lost = math.MaxInt
		said = w.says("sale resume moutai", cli.ExitUnknown, "\nflashsale: no confirmation came: ", "; the change may still happen: repeat the command with --id ")
		lost = 0
		repeat := regexp.MustCompile(` --id [A-Z0-9]+ --version [0-9a-f.]+`).FindString(said)
		w.says("sale resume moutai"+repeat, cli.ExitFine)
		made(2)

		// It is made, and its output is lost.
		gone, end := io.Pipe()
		_ = end.CloseWithError(nil)
		_ = gone.CloseWithError(nil) // each write fails
		said, code := w.target.at(t.Context(), nil, end, "sale", "pause", "moutai")
		if made(3); code != cli.ExitUnknown || strings.Contains(said, "NOT PAUSED") || !strings.Contains(said, "this is change") {
			t.Errorf("exit %d, %q", code, said)
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
		selling(t, sale.Creation{}, func(t *testing.T, w *world) {
			change, changed := w.invoke, false
			w.invoke = func(payload []byte) ([]byte, error) {
				switch {
				case bytes.Contains(payload, []byte(`"routeKey":"POST `)):
					changed = true
					return change(payload)
				case tt.counted == "":
					return nil, errors.New("the environment was lost")
				}
				return fmt.Appendf(nil, `{"statusCode":200,"body":%q}`, tt.counted), nil
			}
			said, code := w.target.at(t.Context(), typing(tt.typed), nil, "sale", "recall", "moutai", "--note", "soles")
			asked := tt.counted == "" || strings.HasPrefix(said, w.target.name()+":\nmoutai has ")
			if (code == cli.ExitFine) != tt.recalls || changed != tt.recalls || !asked || !strings.Contains(said, tt.want) {
				t.Errorf("%s: exit %d, %q, want %q, asked with the name %s", name, code, said, tt.want, w.target.name())
			}
		})
	}
}

// A stack of another version is operated by what both know, or says which release to use.
func TestAStackOfAnotherReleaseIsTold(t *testing.T) {
	problem := func(code string) string {
		return `{"statusCode":500,"body":"{\"code\":\"` + code + `\"}"}`
	}
	const (
		paused = `{"statusCode":200,"body":"{\"saleId\":\"moutai\",\"paused\":true,\"changedAt\":\"2026-11-11T12:00:00Z\"}"}`
		story  = `{"statusCode":200,"body":"{\"saleId\":\"moutai\",\"state\":\"NONE\",\"lines\":[{\"text\":\"alice has no claim\"}],\"forBuyer\":\"none\"}"}`
		older  = "the stack runs 0.1.0, and this is flashsale " + sale.ProgramVersion + ": use that release's, or deploy this one"
		newer  = "the stack is newer than the command: the stack runs 99.0.0, this is flashsale " + sale.ProgramVersion + ": get that release"
	)
	for _, tt := range []struct {
		release, answer, command string
		code                     int
		want                     string
	}{
		{"99.0.0", paused, "sale pause moutai", cli.ExitFine, newer + "; it is asked all the same\nmoutai has been paused since 12:00:00Z"},
		{"99.0.0", paused, "sale resume moutai", cli.ExitUnknown, "flashsale: NOT RESUMED: the sale could not be looked at: " + newer},
		{"99.0.0", paused, "refund list moutai", cli.ExitUnknown, newer},
		{"99.0.0", paused, "books receipt moutai", cli.ExitUnknown, newer},
		{"0.1.0", paused, "sale pause moutai", cli.ExitFine, "moutai has been paused since 12:00:00Z"},
		{"0.1.0", story, "order show --sale moutai --buyer alice", cli.ExitUnknown, "whose stories this command cannot read"},
		{"0.1.0", problem("internal"), "refund mark stripe#pi_1", cli.ExitUnknown, older}, // a route that it does not have
		{"0.1.0", `{"statusCode":404,"body":"{\"message\":\"Not Found\"}"}`, "refund mark stripe#pi_1", cli.ExitUnknown, older},
		{"0.1.0", `{"statusCode":200,"body":"<html>"}`, "refund list", cli.ExitUnknown, "read the answer of OperateFunction"},
		{"0.1.0", problem("internal"), "refund list moutai", cli.ExitUnknown, older},
		{"0.1.0", problem("internal"), "order resend moutai", cli.ExitUnknown, older},
		{"0.1.0", problem("internal"), "queue redrive", cli.ExitUnknown, older},
		{"0.1.0", strings.Replace(problem("invalid-request"), "500", "400", 1), "sale pause moutai", cli.ExitBad, "NOT PAUSED: invalid-request"},
		{sale.ProgramVersion, problem("internal"), "refund list moutai", cli.ExitUnknown, "flashsale: the list is not complete: refunds of moutai: internal\n"},
		{"", problem("internal"), "queue redrive", cli.ExitUnknown, "flashsale: internal\n"},
	} {
		var stack *httptest.Server
		stack = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/_local/health" {
				fmt.Fprintf(rw, `{"lambda":%q,"table":"T","version":%q}`, stack.URL, tt.release)
				return
			}
			fmt.Fprint(rw, tt.answer)
		}))
		(&target{}).says(t, tt.command+" --url "+stack.URL, tt.code, tt.want)
		stack.Close()
	}
}

func TestAGroupIsChangedSaleAfterSaleUnderOneIDAndTheWorstCounts(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.sizes()
		for _, tt := range []struct {
			command string
			code    int
			want    []string
		}{
			{"sale pause --group boots --id p1", 0, []string{"boots-41 has been paused since", "boots-42 has been paused since"}},
			{"sale add --group boots --stock 5 --id more", 1, []string{
				"boots-41 got 5 more units", "boots-42: NOT ADDED: recalled: the sale was recalled\n", "flashsale: it failed for 1 of the 2 sales of the group boots\n"}},
			{"sale resume --group boots --dry-run", 1, []string{"it would be resumed", "boots-42: NOT RESUMED: recalled: the sale was recalled\n"}},
			{"sale resume --group boots", 1, []string{"this is change ", " of each sale: with --id ", "boots-41 was resumed", "boots-42: NOT RESUMED: recalled"}},
			{"sale show --group boots", 0, []string{"saleId: boots-41\n", "saleId: boots-42\n", "limitGroup: boots\n", "changes:\n", "action: pause\n"}},
			{"sale list --group boots", 0, []string{"2 sales, release ", "\nboots-41 ", "\nboots-42 "}},
			{"order list --group boots -o csv", 0, []string{"sale,name,order", "0 orders"}},
			{"books receipt --group boots", 0, []string{"receipt of sale boots-41", "receipt of sale boots-42"}},
			{"sale list --group shoes", 1, []string{"flashsale: no sale has the limitGroup shoes ("}},
			{"sale pause --group shoes", 1, []string{"flashsale: no sale has the limitGroup shoes ("}},
			{"order list --group shoes", 1, []string{"flashsale: no sale has the limitGroup shoes ("}},
			{"sale recall --group boots --note soles", 64, []string{"flashsale: sale recall asks before it goes on, and there is no terminal: give --yes\n"}},
		} {
			w.says(tt.command, tt.code, tt.want...)
		}
		trail, _, err := w.book.Trail(t.Context(), "boots-41", 9)
		if err != nil || len(trail) != 3 || len(trail[0].ID) != 26 || trail[1].ID != "p1" || trail[2].ID != "more" {
			t.Errorf("%+v, %v", trail, err)
		}
		answer := w.invoke
		w.invoke = func(payload []byte) ([]byte, error) {
			if bytes.Contains(payload, []byte(`"boots-41"`)) && bytes.Contains(payload, []byte(`"POST `)) {
				return []byte(`{"statusCode":500,"body":"{\"code\":\"internal\"}"}`), nil
			}
			return answer(payload)
		}
		w.says("sale add --group boots --stock 1 --id lost", cli.ExitUnknown, "it failed for 2 of the 2 sales") // one is not known, and then one refused
	})
}

func TestADryRunKnowsWhatADrawForbids(t *testing.T) {
	p := answering(`{"saleId":"a","opensAt":"2026-11-11T12:00:00Z","closesAt":"2026-11-12T12:00:00Z","changes":[],` +
		`"draw":{"enterFrom":"2026-11-10T12:00:00Z","enterUntil":"2026-11-11T11:00:00Z","keepHours":4,"call":2,"from":"2026-11-11T16:00:00Z","until":"2026-11-11T20:00:00Z"}}`)
	for command, want := range map[string]string{
		"withdraw a --stock 1 --id x": "NOT WITHDRAWN: conflicting-request: people have been called",
		"reschedule a --opens 2026-11-11T13:00:00Z --closes 2026-11-12T12:00:00Z":                              "opensAt must not change any more",
		"reschedule a --opens 2026-11-11T12:00:00Z --closes 2026-11-12T11:00:00Z":                              "closesAt of a sale with a draw must not become earlier",
		"reschedule a --opens 2026-11-11T12:00:00Z --closes 2026-11-12T12:00:00Z --until 2026-11-11T19:00:00Z": "until must not be earlier than the end of the call",
		"reschedule a --opens 2026-11-11T12:00:00Z --closes 2026-11-12T12:00:00Z --until 2026-11-11T21:00:00Z": "",
		"extend a --until " + instant(time.Now().Add(time.Hour)):                                               "NOT EXTENDED",
	} {
		said, code := p.does(t, "sale "+command+" --dry-run")
		if (code == cli.ExitFine) != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, %s", command, code, said)
		}
	}
}
