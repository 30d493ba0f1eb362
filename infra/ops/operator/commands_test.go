package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// step is a command in a story: it ends with that code, also as a dry run, which writes nothing, and what either says
// has the texts.
type step struct {
	command string
	code    int
	want    []string
}

// tell runs the steps of a story. Where a command has --dry-run it is a dry run first, and where it asks it is then
// told yes.
func (w *world) tell(story ...step) {
	w.Helper()
	verbs := map[string]verb{"create": createVerb}
	for _, n := range nouns() {
		for _, v := range n.verbs {
			verbs[n.name+" "+strings.Fields(v.use)[0]] = v
		}
	}
	for _, s := range story {
		words := strings.Fields(s.command)
		v, known := verbs[words[0]]
		if !known {
			v = verbs[strings.Join(words[:2], " ")]
		}
		would := ""
		if strings.Contains(v.flags, "dry-run") || slices.ContainsFunc(changes, func(c change) bool { return c.action == words[1] }) {
			before := w.db.Items("T")
			if would = w.says(s.command+" --dry-run", s.code); !reflect.DeepEqual(w.db.Items("T"), before) {
				w.Errorf("%s: a dry run has written", s.command)
			}
		}
		command := s.command
		if v.asks {
			command += " --yes"
		}
		contains(w.T, would+w.says(command, s.code), s.want...)
	}
}

func is(command string, code int, want ...string) step { return step{command, code, want} }

func TestEveryCommandDoesWhatItsDryRunSays(t *testing.T) {
	selling(t, sale.Creation{Stock: 4, MaxStock: 6}, func(t *testing.T, w *world) {
		alices, bobs := w.ordered("alice"), w.ordered("bob")
		w.pay("pi_1", bobs, 89900)
		w.pay("pi_2", bobs, 89900)
		w.create(sale.Creation{SaleID: "sealed"}, sale.Creation{SaleID: "recalled"}, sale.Creation{SaleID: "drawn", DrawTerms: sale.DrawTerms{
			EnterFrom: noon.Add(-2 * time.Hour), EnterUntil: noon.Add(-time.Hour), KeepFor: time.Hour,
		}})
		w.ok(w.book.Recall(t.Context(), sale.Recall{SaleID: "recalled", ChangeID: "r"}))
		w.ok(nil, w.db.Tamper(t.Context(), "T", "SALE#sealed", "SALE", "sealedAt", noon.UnixMilli()))
		const window, later = " --opens 2026-11-11T12:00:00Z --closes 2026-11-11T13:00:00Z", " --opens 2026-11-11T12:00:00Z --closes 2026-11-11T14:00:00Z"
		none, one := "523415642750058497", " --provider stripe --sale moutai --currency cny --amount 89900 --payment "
		unpaid := "order " + alices + " of alice in sale moutai is CONFIRMED: 899.00 CNY, to be paid by 2026-11-12T12:00:00Z"
		const looks = "moutai is OPEN, sells from 2026-11-11T12:00:00Z to 2026-11-11T13:00:00Z, and has 4 units in all, of which 2 are left, and orders that nobody has counted yet; "
		w.tell(
			is("sale pause moutai --id p", 0, looks+"it would be paused: no unit would be sold until it is resumed; nothing was changed\n"),
			is("sale pause moutai --id p", 0, "this change was made at 2026-11-11T12:00:00.000Z, and nothing more would change"),
			is("sale resume moutai --id p", 1, "NOT RESUMED: the change id was used for another change\n"), is("sale pause nowhere", 1, "NOT PAUSED: sale-not-found: no such sale\n"),
			is("sale pause sealed", 1), is("sale pause recalled", 0), is("sale pause --group nowhere", 1), is("sale resume moutai --id r", 0), is("sale resume recalled", 1),
			is("sale resume moutai --version "+sale.ReadVersion{}.Text("moutai"), 1, "NOT RESUMED: the sale was changed meanwhile; look at it again\n"),
			is("sale describe moutai --name M --id d", 0, `it would be shown otherwise, name "M"`), is("sale describe moutai --name M --id d", 0), is("sale describe moutai --name X --id d", 1),
			is("sale describe moutai --name M --about x --id d", 1), is("sale describe moutai --link http://x.example", 1, "link must be an address"), is("sale describe moutai", 64),
			is("sale describe recalled --name=", 0, "recalled is shown as \"recalled\"; "),
			is("sale reschedule moutai --id w"+later, 0, `it would be rescheduled, opens "2026-11-11T12:00:00Z", closes "2026-11-11T14:00:00Z"`), is("sale reschedule moutai --id w"+later, 0),
			is("sale reschedule moutai --id w"+window, 1), is("sale reschedule moutai --until 2026-11-11T13:00:00Z"+later, 1), is("sale reschedule drawn"+later, 0),
			is("sale reschedule drawn"+window, 1), is("sale reschedule moutai --opens noon", 64),
			is("sale extend moutai --until 2026-11-12T13:00:00+01:00 --id e", 0, `it would give every unpaid order more time, until "2026-11-12T12:00:00Z"`, "every unpaid order of moutai may be paid until 2026-11-12T12:00:00Z"),
			is("sale extend moutai --until 2026-11-12T12:00:00Z --id e", 0), is("sale extend moutai --until 2026-11-12T11:00:00Z --id e", 1),
			is("sale pause moutai --id p", 1), is("sale describe moutai --name N --id n", 0), is("sale describe moutai --name M --id d", 1), is("sale describe moutai --name M", 0), is("sale describe moutai --name M --id d", 0),
			is("sale reschedule moutai --id v"+window, 0), is("sale reschedule moutai --id w"+later, 1),
			is("sale extend moutai --until 2026-11-12T11:00:00Z", 1, "more time was given before, until 2026-11-12T12:00:00Z, and none of it is taken back"),
			is("sale extend moutai --until 2026-11-19T12:00:00Z", 1, "until must be at most 7 days ahead"), is("sale extend drawn --until 2026-11-12T11:00:00Z", 1),
			is("sale add moutai --stock 1 --id a -o json", 0, `"would": "it would get units more, stock \"1\""`), is("sale add moutai --stock 1 --id a", 0), is("sale add moutai --stock 2 --id a", 1),
			is("sale add moutai --stock 2 --id b", 1), is("sale add moutai --stock 1 --id b", 0), is("sale add moutai --stock 2000000000 --id all", 1, "NOT ADDED: invalid-request: stock must be 1 to 1000000000\n"),
			is("sale add moutai --stock 1 --id p", 1), is("sale add recalled --stock 1 --id a", 1), is("sale add sealed --stock 1 --id a", 1), is("sale withdraw moutai --stock 1 --id a", 1),
			is("sale withdraw moutai --stock 1 --id x", 0, "it would lose units that nobody holds, as far as there are so many"), is("sale withdraw moutai --stock 2 --id x", 1), is("sale withdraw drawn --stock 1 --id x", 0),

			is("order show --sale moutai --buyer alice", 0, "confirmed: order "+alices), is("order show "+alices, 0, "alice in sale moutai\n"), is("order show "+none, 1, "there is no order "+none),
			is("order cancel "+alices+" --sale maotai", 1, "there is no order "+alices+" in sale maotai"), is("order cancel "+alices+" --unit lost", 64, `--unit is "lost"; it must be back or kept`),
			is("order cancel "+alices+" --id c --note moved", 0, unpaid+"; it would be released, its unit in stock again. alice could never order again in this sale; nothing was changed\n",
				"order "+alices+" was cancelled at 2026-11-11T12:00:00Z: it is released, its unit in stock again\nthis is change c: with --id c the same command changes nothing more"),
			is("order cancel "+alices+" --id c", 0, "this cancellation was made at ", "was cancelled at 2026-11-11T12:00:00Z, and nothing changed now: it is released"),
			is("order cancel "+alices+" --id c --unit kept", 1, "NOT CANCELLED: the change id was used for another change"),
			is("order cancel "+alices, 1, "alice in sale moutai is CANCELLED: 899.00 CNY\n", "NOT CANCELLED: the order was cancelled by ", " on 2026-11-11T12:00:00Z (moved)"), is("order cancel "+none, 1),
			is("order list moutai --state cancelled", 0, "alice", "1 orders"),

			is("refund list", 0, "moutai stripe#pi_2 899.00 CNY "+bobs+" other-payment 2026-11-11T12:00:00Z DUE", "1 refunds due, 0 done"), is("refund list nowhere", 1),
			is("refund mark stripe#pi_2 --sale nowhere", 1), is("refund mark stripe#pi_9", 1, "no refund of stripe#pi_9 is due\n"),
			is("refund mark pi_2", 0, "stripe#pi_2, 899.00 CNY, would be marked as refunded; nothing was changed", "stripe#pi_2, 899.00 CNY, is marked as refunded at 2026-11-11T12:00:00Z by "),
			is("refund mark stripe#pi_2", 0, "was marked as refunded at ", ", and nothing changed now: do not pay it back again"), is("refund mark --file "+file(t, "x\ny\n"), 1),
			is("refund list moutai -o json", 0, `"payment":"stripe#pi_2"`, `"refundedAt":"`, "0 refunds due, 1 done"),

			is("payment record --order "+bobs+one+"pi_1", 0, bobs+" is of bob in sale moutai: PAID; its price is 89900 CNY", "stripe#pi_1 is recorded already, and nothing would change", "stripe#pi_1: paid; recorded before, and nothing changed now"),
			is("payment record --order "+alices+one+"pi_3", 0, "89900 CNY of stripe#pi_3 for order "+alices+" of sale moutai would be recorded permanently; nothing was recorded", "stripe#pi_3: refund due, because: released; recorded now"),
			is("payment record --order "+bobs+one+"pi_3", 1, "recorded for another order or amount, and the first report decides"), is("payment record --order x"+one+"pi_4", 64),
			is("payment record --order "+none+one+"pi_5", 2, "the payment's order does not exist yet; repeat the command"),
			is("payment record --order 323415642750058497"+one+"pi_6", 0, "there is no order 323415642750058497", "refund due, because: unknown-order; recorded now"),

			is("sale export nowhere", 1), is("sale show nowhere", 1), is("sale list --group none", 1), is("sale show --group none", 1), is("order list nowhere", 1), is("books receipt nowhere", 1),
			is("buyer erase alice", 1, "NOT ERASED: the sale moutai is not drained"), is("buyer erase nobody", 1, "NOT ERASED: no sale holds anything of nobody"),
			is("books archive moutai --file "+file(t, "x"), 1, "nothing would be archived: "), is("books archive nowhere --file "+file(t, "x")+"s", 1), is("books prune moutai --file "+file(t, "x"), 1),
			is("books prune moutai --file /none", 64), is("books archive moutai", 64), is("create "+file(t, "saleId: spring\n"), 64), is("create /none", 64),
			is("sale recall moutai --note soles", 0, "it would be recalled permanently: every order that is not paid would be released, and every payment go back"), is("sale recall nowhere --note soles", 1),
			is("order cancel "+bobs, 1, "of bob in sale moutai is RECALLED: 899.00 CNY (stripe#pi_1)\n", "NOT CANCELLED: the sale was recalled"),
		)
	})
}

func TestAPaidOrderIsCancelledAndItsBuyerErasedAndTheSaleArchived(t *testing.T) {
	selling(t, sale.Creation{LimitGroup: "shoe"}, func(t *testing.T, w *world) {
		w.create(sale.Creation{SaleID: "second"})
		alices, bobs := w.ordered("alice"), w.ordered("bob")
		w.pay("pi_'1", alices, 89900)
		w.pay("pi_5", alices, 5)
		w.pay("pi_b", bobs, 89900)
		const at = "2026-11-11T12:00:00.000Z"
		w.says("buyer show alice", 0, "saleId: moutai\n", "orderId: \""+alices+"\"\n", "state: PAID\n", "acceptedAt: \""+at+"\"\n", "group: shoe\n", "- payment: stripe#pi_5\n", "reason: amount\n", "1 of 2 sales hold something of alice")
		w.tell(is("order cancel "+alices+" --unit kept --id c1 --note far", 0, "of alice in sale moutai is PAID: 899.00 CNY (stripe#pi_'1)",
			"it is over, its unit kept from everybody, its payment of 899.00 CNY (stripe#pi_'1) a refund due; give it back at the provider, then `flashsale refund mark 'stripe#pi_'\\''1' --sale moutai --env dev`, or let the stack do it: `flashsale refund send moutai --payment 'stripe#pi_'\\''1' --env dev`\n"))
		w.says("buyer show alice", 0, "state: CANCELLED\n", "reason: cancelled\n", "cancelled: at: \""+at+"\" by: ", "note: far expected: PAID unit: kept id: c1")
		w.says("refund mark --yes --file "+file(t, "pi_'1\npi_5\n"), 0, "of 2 payments 2 are marked as refunded now")
		var said personJSON
		if text := w.data("buyer show alice -o json"); json.Unmarshal([]byte(text), &said) != nil || !said.Complete || said.SalesRead != 2 || len(said.Sales) != 1 || len(said.Sales[0].Refunds) != 2 {
			t.Errorf("%+v of %s", said, text)
		}
		w.drained("moutai", "second")
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("TransactWriteItems", "moutai")
		w.says("buyer erase alice --yes", 2)
		w.db.Fault = nil
		w.tell(is("buyer erase alice", 0, "alice would be erased permanently in these 1 sales", "note: far\n", "moutai  erased\n", "alice was erased in 1 sales"), is("buyer erase alice", 1, "NOT ERASED: no sale holds anything of alice"))

		name := filepath.Join(t.TempDir(), "mou'tai$HOME.jsonl")
		write, prune := "books archive moutai --file "+name, "books prune moutai --file "+name
		w.tell(is(write, 1, "NOT ARCHIVED: the sale moutai may be archived from "))
		time.Sleep(maintenance.ArchiveAfter)
		w.tell(is(write+"/nowhere", 1, "nothing was archived: "),
			is(write, 0, name+" would get ", " 2 claims with their orders; digest ", "nothing was deleted", "`flashsale books prune moutai --file '"+strings.ReplaceAll(name, "'", `'\''`)+"' --env dev` with that copy"))
		whole, err := os.ReadFile(name)
		w.ok(whole, err)
		w.ok(nil, os.WriteFile(name+".cut", whole[:len(whole)/2], 0o600))
		before := len(w.db.Items("T"))
		w.tell(is(write, 1, "file exists"), is(prune+".cut", 1, "NOT ARCHIVED: the archive is cut off"))
		w.says(prune, 64, "asks before it goes on")
		if after := len(w.db.Items("T")); after != before {
			t.Errorf("%d items were deleted", before-after)
		}
		w.tell(is(prune, 0, "moutai: 2 claims with their orders would be deleted", "moutai is archived: 2 claims with their orders were deleted; digest "),
			is("books receipt moutai", 0, " 2 claims with their orders, digest ", "balanced: stock left + archived claims"), is("order list moutai", 1, "the sale moutai was archived on 2027-02-09"))
	})
}

func TestAnOrderIsCancelledOnlyInTheStateInWhichItWasShown(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		alices := w.ordered("alice")
		meanwhile := typing("y\n")
		meanwhile.happens = func() { w.pay("pi_1", alices, 89900) }
		said, code := w.target.at(t.Context(), meanwhile, nil, "order", "cancel", alices)
		if contains(t, said, "NOT CANCELLED: ", "the order is PAID now; look at it again"); code != cli.ExitBad {
			t.Errorf("exit %d", code)
		}
		answer := w.invoke
		w.invoke = func(event []byte) ([]byte, error) {
			if bytes.Contains(event, []byte(`"GET /operate/orders/{orderId}"`)) {
				return answer(event)
			}
			return nil, errors.New("the environment was lost")
		}
		w.says("order cancel "+alices+" --yes --id c1", cli.ExitUnknown, "the change may still happen: repeat the command with --id c1 until it succeeds")
		w.invoke = answer
		w.says("order cancel "+alices+" --yes --id c1", cli.ExitFine, "it is over, its unit in stock again, its payment of 899.00 CNY (stripe#pi_1) a refund due")
		w.says("order cancel "+alices+" --id c1", cli.ExitFine, "and nothing changed now: it is over") // it does not ask
	})
}

func TestAnInterruptedCommandSaysWhatARepeatDoes(t *testing.T) {
	selling(t, sale.Creation{}, func(t *testing.T, w *world) {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		name := filepath.Join(t.TempDir(), "moutai.jsonl")
		for command, want := range map[string]string{
			"order list moutai":                   "the list is not complete: repeat the command",
			"buyer show alice":                    "the answer is not complete: repeat the command",
			"buyer erase alice --yes":             "repeat the command: it erases what is left",
			"books receipt moutai":                "repeat the command",
			"books archive moutai --file " + name: "nothing was archived: repeat the command",
		} {
			said, code := w.target.at(ctx, nil, nil, strings.Fields(command)...)
			if code != cli.ExitUnknown || !strings.Contains(said, "flashsale: interrupted; "+want) {
				t.Errorf("%s: exit %d, %q, want %q", command, code, said, want)
			}
		}
		if files, _ := filepath.Glob(name); files != nil {
			t.Errorf("%s is left", files)
		}
	})
}

func TestAnAnswerThatMayLackASaleSaysSo(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.create(sale.Creation{SaleID: "a"}, sale.Creation{SaleID: "newer"})
		w.newer("newer")
		w.says("buyer show alice -o json", cli.ExitUnknown, "the answer is not complete: sale newer: ", `"complete": false`)
		w.says("sale list", cli.ExitUnknown, "newer-version", "the list is not complete: 1 of 2 sales could not be read")
	})
}

func TestAShellCompletesIDsOfTheStackAndWaitsForNoStackThatDoesNotAnswer(t *testing.T) {
	defer func(before time.Duration) { completeTime = before }(completeTime)
	completeTime = time.Hour
	in(t, func(t *testing.T, w *world) {
		w.create(sale.Creation{SaleID: "moutai", Name: "Moutai"})
		w.sizes()
		for command, want := range map[string]string{
			"sale pause m": "moutai\tMoutai, OPEN\n:4\n", "sale pause --sale boots-42": "boots-42\tRECALLED\n:4\n", "order list --group b": "boots\n:4\n", "sale pause moutai m": ":4\n", "sale show x": ":4\n",
		} {
			if said := w.data("__complete " + command); said != want {
				t.Errorf("%s: %q; want %q", command, said, want)
			}
		}
	})
	hang := make(chan struct{})
	stack := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer stack.Close()
	defer close(hang)
	completeTime = 50 * time.Millisecond
	defer func(before func() (io.ReadWriteCloser, error)) { system.Terminal = before }(system.Terminal)
	system.Terminal = func() (io.ReadWriteCloser, error) {
		t.Error("a code of an MFA device is asked for at a prompt")
		return nil, os.ErrNotExist
	}
	profile := file(t, "[profile mfa]\nrole_arn = arn:aws:iam::1:role/ops\nsource_profile = mfa\nmfa_serial = m\naws_access_key_id = A\naws_secret_access_key = S\n")
	for _, flags := range [][]string{{"--stack", "mfa"}, {"--url", stack.URL}, {"--stack", "a", "--table", "b"}, {"--table", "T"}} {
		targettest.Offline(t)
		t.Setenv("AWS_CONFIG_FILE", profile)
		t.Setenv("AWS_PROFILE", map[bool]string{true: "mfa"}[flags[1] == "mfa"])
		var out bytes.Buffer
		if _, code := (&target{}).at(t.Context(), nil, &out, append([]string{"__complete", "sale", "pause"}, append(flags, "")...)...); code != cli.ExitFine || out.String() != ":4\n" {
			t.Errorf("%v: exit %d, %q", flags, code, &out)
		}
	}
}
