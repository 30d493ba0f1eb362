package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	"flashsale/infra/ops/place/placetest"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// ofSizes makes the shop's sales boots-41 and boots-42, of the group boots; nobody gets a unit of the second any more.
func (s *shop) ofSizes(t *testing.T) {
	t.Helper()
	for _, id := range []string{"boots-41", "boots-42"} {
		if _, err := s.book.Create(t.Context(), sale.Creation{SaleID: id, Name: id, LimitGroup: "boots", OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 5, Shards: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.book.Recall(t.Context(), sale.Recall{SaleID: "boots-42", ChangeID: "r"}); err != nil {
		t.Fatal(err)
	}
}

func TestAGroupIsChangedSaleAfterSaleUnderOneIDAndTheWorstCounts(t *testing.T) {
	s := newShop(t)
	s.ofSizes(t)
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
		{"sale list --group shoes", 1, []string{"flashsale: no sale has the limitGroup shoes ("}},
		{"sale pause --group shoes", 1, []string{"flashsale: no sale has the limitGroup shoes ("}},
		{"sale recall --group boots --note soles", 64, []string{"flashsale: sale recall asks before it goes on, and there is no terminal: give --yes\n"}},
	} {
		said, code := s.place.does(t, tt.command)
		if code != tt.code {
			t.Errorf("%s: exit %d, want %d", tt.command, code, tt.code)
		}
		contains(t, said, tt.want...)
	}
	trail, _, err := s.book.Trail(t.Context(), "boots-41", 9)
	if err != nil || len(trail) != 3 || len(trail[0].ID) != 26 || trail[1].ID != "p1" || trail[2].ID != "more" {
		t.Errorf("%+v, %v", trail, err)
	}
	answer := s.invoke
	s.invoke = func(payload []byte) ([]byte, error) {
		if bytes.Contains(payload, []byte(`"boots-41"`)) && bytes.Contains(payload, []byte(`"POST `)) {
			return []byte(`{"statusCode":500,"body":"{\"code\":\"internal\"}"}`), nil
		}
		return answer(payload)
	}
	if said, code := s.place.does(t, "sale add --group boots --stock 1 --id lost"); code != cli.ExitUnknown || !strings.Contains(said, "it failed for 2 of the 2 sales") {
		t.Errorf("one is not known, and then one refused: exit %d, %s", code, said)
	}
}

func TestTheOrdersOfAGroupAreOneList(t *testing.T) {
	s := newShop(t)
	s.ofSizes(t)
	p := &place{db: s.db}
	said, code := p.does(t, "order list --group boots -o csv")
	if code != cli.ExitFine || strings.Count(said, "sale,name,order") != 1 || !strings.HasSuffix(said, "\n0 orders\n") {
		t.Errorf("exit %d, %s", code, said)
	}
	tells(t, s.db, "order list --group shoes", cli.ExitBad, "flashsale: no sale has the limitGroup shoes")
	tells(t, s.db, "books receipt --group boots", cli.ExitFine, "receipt of sale boots-41", "receipt of sale boots-42")
}

func TestADryRunSaysWhatWouldHappenAndAsksNobodyToDoIt(t *testing.T) {
	s := newShop(t)
	if _, code := s.place.does(t, "sale add moutai --stock 1 --id first"); code != cli.ExitFine {
		t.Fatal(code)
	}
	before := s.db.Items("T")
	const is = "moutai is OPEN, sells from 2026-11-11T12:00:00Z to 2026-11-11T13:00:00Z, and has 101 units in all, of which 101 are left"
	would := func(what string) string {
		return is + ", and orders that nobody has counted yet; " + what + "; nothing was changed\n"
	}
	for command, want := range map[string]string{
		"sale pause moutai":                      would("it would be paused: no unit would be sold until it is resumed"),
		"sale resume moutai":                     would("it would be resumed"),
		"sale describe moutai --name x --about=": would(`it would be shown otherwise, name "x", about ""`),
		"sale reschedule moutai --opens 2026-11-11T13:00:00+01:00 --closes 2026-11-11T14:00:00Z": would(`it would be rescheduled, opens "2026-11-11T12:00:00Z", closes "2026-11-11T14:00:00Z"`),
		"sale add moutai --stock 50 --id third":                                                  would(`it would get units more, stock "50"`),
		"sale add moutai --stock 50 --id third -o json":                                          "{\n  \"is\": \"" + is + "\",\n  \"saleId\": \"moutai\",\n  \"would\": \"it would get units more, stock \\\"50\\\"\"\n}\n",
		"sale add moutai --stock 1 --id first":                                                   would("this change was made at 2026-11-11T12:00:00.000Z, and nothing more would change"),
		"sale withdraw moutai --stock 1 --id first":                                              "flashsale: NOT WITHDRAWN: the change id was used for another change\n",
		"sale withdraw moutai --stock 200 --id rest":                                             would(`it would lose units that nobody holds, as far as there are so many, stock "200"`),
		"sale add moutai --stock 2000000000 --id all":                                            "flashsale: NOT ADDED: invalid-request: stock must be 1 to 1000000000\n",
		"sale describe moutai --link http://shop.example":                                        "flashsale: NOT DESCRIBED: invalid-request: link must be an address of at most 500 characters that begins with https://, percent-encoded\n",
		"sale reschedule moutai --opens 2026-11-11T14:00:00Z --closes 2026-11-11T13:00:00Z":      "flashsale: NOT RESCHEDULED: invalid-request: closesAt must be after opensAt\n",
		"sale recall moutai --note soles":                                                        would("it would be recalled for ever: every order that is not paid would be released, and every payment go back"),
		"sale resume moutai --seen " + sale.Seen{}.Text("moutai"):                                "flashsale: NOT RESUMED: the sale was changed meanwhile; look at it again\n",
		"sale pause nowhere":                                                                     "flashsale: NOT PAUSED: sale-not-found: no such sale\n",
		"order resend --sale moutai":                                                             "moutai has orders that nobody has counted yet; the messages of those without an id would be sent again; nothing was sent\n",
	} {
		said, code := s.place.does(t, command+" --dry-run")
		if refused := strings.HasPrefix(want, "flashsale: "); said != want || (code == cli.ExitBad) != refused || (code == cli.ExitFine) == refused {
			t.Errorf("%s: exit %d, %q, want %q", command, code, said, want)
		}
	}
	if !reflect.DeepEqual(s.db.Items("T"), before) {
		t.Error("a dry run has written")
	}
}

func TestADryRunHasTheExitCodeOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 4, MaxStock: 6, Price: 89900})
		at := desk(t, db, book)
		alices, bobs := orderid.String(ordered(t, book, "alice")), ordered(t, book, "bob")
		pay(t, book, "pi_1", bobs, 89900)
		pay(t, book, "pi_2", bobs, 89900)
		for id, with := range map[string]func(*sale.Creation){
			"drawn": func(c *sale.Creation) {
				c.DrawTerms = sale.DrawTerms{EnterFrom: noon.Add(-2 * time.Hour), EnterUntil: noon.Add(-time.Hour), KeepFor: time.Hour}
			},
			"sealed": func(*sale.Creation) {}, "recalled": func(*sale.Creation) {},
		} {
			c := sale.Creation{SaleID: id, Name: id, OpensAt: noon, ClosesAt: noon.Add(time.Hour), Stock: 5, Shards: 1}
			if with(&c); c.Check() != nil {
				t.Fatal(c.Check())
			}
			if _, err := book.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := book.Recall(t.Context(), sale.Recall{SaleID: "recalled", ChangeID: "r"}); err != nil {
			t.Fatal(err)
		}
		if err := db.Tamper(t.Context(), "T", "SALE#sealed", "SALE", "sealedAt", noon.UnixMilli()); err != nil {
			t.Fatal(err)
		}
		file := func(text string) string {
			path := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		const window, later = " --opens 2026-11-11T12:00:00Z --closes 2026-11-11T13:00:00Z", " --opens 2026-11-11T12:00:00Z --closes 2026-11-11T14:00:00Z"
		none, one := "523415642750058497", " --provider stripe --sale moutai --currency CNY --amount 89900 --payment "
		for _, tt := range []struct {
			command string
			code    int
		}{
			{"sale pause moutai --id p", 0}, {"sale pause moutai --id p", 0}, {"sale resume moutai --id p", 1}, {"sale pause nowhere", 1}, {"sale pause sealed", 1}, {"sale pause recalled", 0},
			{"sale pause --group nowhere", 1}, {"sale resume moutai --id r", 0}, {"sale resume recalled", 1}, {"sale resume moutai --seen " + sale.Seen{}.Text("moutai"), 1},
			{"sale describe moutai --name M --id d", 0}, {"sale describe moutai --name M --id d", 0}, {"sale describe moutai --name X --id d", 1}, {"sale describe moutai --name M --about x --id d", 1},
			{"sale describe moutai --link http://x.example", 1}, {"sale describe moutai", 64}, {"sale describe recalled --name x", 0},
			{"sale reschedule moutai --id w" + later, 0}, {"sale reschedule moutai --id w" + later, 0}, {"sale reschedule moutai --id w" + window, 1}, {"sale reschedule moutai --until 2026-11-11T13:00:00Z" + later, 1},
			{"sale reschedule drawn" + later, 0}, {"sale reschedule drawn" + window, 1}, {"sale reschedule moutai --opens noon", 64},
			{"sale extend moutai --until 2026-11-12T12:00:00Z --id e", 0}, {"sale extend moutai --until 2026-11-12T12:00:00Z --id e", 0}, {"sale extend moutai --until 2026-11-12T11:00:00Z --id e", 1},
			{"sale pause moutai --id p", 1}, {"sale describe moutai --name N --id n", 0}, {"sale describe moutai --name M --id d", 1}, {"sale describe moutai --name M", 0}, {"sale describe moutai --name M --id d", 0},
			{"sale reschedule moutai --id v" + window, 0}, {"sale reschedule moutai --id w" + later, 1},
			{"sale extend moutai --until 2026-11-12T11:00:00Z", 1}, {"sale extend drawn --until 2026-11-12T11:00:00Z", 1},
			{"sale add moutai --stock 1 --id a", 0}, {"sale add moutai --stock 1 --id a", 0}, {"sale add moutai --stock 2 --id a", 1}, {"sale add moutai --stock 2 --id b", 1}, {"sale add moutai --stock 1 --id b", 0},
			{"sale add moutai --stock 1 --id p", 1}, {"sale add recalled --stock 1 --id a", 1}, {"sale add sealed --stock 1 --id a", 1}, {"sale withdraw moutai --stock 1 --id a", 1},
			{"sale withdraw moutai --stock 1 --id x", 0}, {"sale withdraw moutai --stock 2 --id x", 1}, {"sale withdraw drawn --stock 1 --id x", 0},
			{"order cancel " + alices + " --id c", 0}, {"order cancel " + alices + " --id c", 0}, {"order cancel " + alices + " --id c --unit kept", 1}, {"order cancel " + alices, 1}, {"order cancel " + none, 1},
			{"refund mark stripe#pi_2", 0}, {"refund mark stripe#pi_2", 0}, {"refund mark stripe#pi_9", 1}, {"refund mark stripe#pi_2 --sale nowhere", 1}, {"refund mark --file " + file("x\ny\n"), 1},
			{"payment record --order " + alices + one + "pi_3", 0}, {"payment record --order " + alices + one + "pi_3", 0}, {"payment record --order " + orderid.String(bobs) + one + "pi_3", 1}, {"payment record --order x" + one + "pi_4", 64},
			{"buyer erase alice", 1}, {"buyer erase nobody", 1}, {"books archive moutai --file " + file("x"), 1}, {"books archive nowhere --file " + file("x") + "s", 1}, {"books prune moutai --file " + file("x"), 1},
			{"books prune moutai --file /none", 64}, {"books archive moutai", 64}, {"create " + file("saleId: spring\n") + " ", 64}, {"create /none", 64}, {"sale recall moutai --note soles", 0}, {"sale recall nowhere --note soles", 1},
		} {
			before := db.Items("T")
			would, dry := at.does(t, tt.command+" --dry-run")
			if !reflect.DeepEqual(db.Items("T"), before) {
				t.Errorf("%s: a dry run has written", tt.command)
			}
			if words := strings.Fields(tt.command)[1]; slices.Contains([]string{"cancel", "record", "erase", "prune", "recall"}, words) {
				tt.command += " --yes"
			}
			if said, code := at.does(t, tt.command); code != tt.code || dry != tt.code {
				t.Errorf("%s: exit %d, and %d of a dry run, want %d\n%s%s", tt.command, code, dry, tt.code, said, would)
			}
		}
	})
}

func TestAnInterruptedCommandSaysWhatARepeatDoes(t *testing.T) {
	s := newShop(t)
	s.ofSizes(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	file := filepath.Join(t.TempDir(), "moutai.jsonl")
	for command, want := range map[string]string{
		"order list moutai":                   "the list is not complete: repeat the command",
		"buyer show alice":                    "the answer is not complete: repeat the command",
		"buyer erase alice --yes":             "repeat the command: it erases what is left",
		"books receipt moutai":                "repeat the command",
		"books archive moutai --file " + file: "nothing was archived: repeat the command",
		"refund list":                         "the list is not complete: repeat the command",
		"refund mark stripe#pi_1":             "repeat the command: it marks a refund once",
	} {
		said, code := (&place{db: s.db}).during(ctx, nil, nil, strings.Fields(command)...)
		if code != cli.ExitUnknown || !strings.Contains(said, "flashsale: interrupted; "+want) {
			t.Errorf("%s: exit %d, %q, want %q", command, code, said, want)
		}
	}
	if files, _ := filepath.Glob(file); files != nil {
		t.Errorf("%s is left", files)
	}
}

func TestAStackThatIsNewerThanTheCommandIsOnlyPaused(t *testing.T) {
	var stack *httptest.Server
	stack = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_local/health" {
			fmt.Fprintf(w, `{"lambda":%q,"table":"T","version":"99.0.0"}`, stack.URL)
			return
		}
		fmt.Fprint(w, `{"statusCode":200,"body":"{\"saleId\":\"moutai\",\"paused\":true,\"changedAt\":\"2026-11-11T12:00:00Z\"}"}`)
	}))
	defer stack.Close()
	for command, want := range map[string]string{
		"sale pause moutai":    "the stack runs 99.0.0, this is flashsale " + sale.Release + ": get that release; it is asked all the same\nmoutai has been paused since 12:00:00Z",
		"sale resume moutai":   "flashsale: NOT RESUMED: the sale could not be looked at: the stack is newer than the command: the stack runs 99.0.0",
		"books receipt moutai": "flashsale: the stack is newer than the command: the stack runs 99.0.0",
	} {
		said, code := (&place{}).does(t, command+" --url "+stack.URL)
		if (code == cli.ExitFine) != strings.HasPrefix(command, "sale pause") || code != cli.ExitFine && code != cli.ExitUnknown || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, %q, want %q", command, code, said, want)
		}
	}
}

func TestAShellCompletesIDsOfTheStackAndWaitsForNoStackThatDoesNotAnswer(t *testing.T) {
	defer func(before time.Duration) { completeTime = before }(completeTime)
	completeTime = time.Hour
	s := newShop(t)
	s.ofSizes(t)
	for command, want := range map[string]string{
		"__complete sale pause m":               "moutai\tMoutai, OPEN\n:4\n",
		"__complete sale pause --sale boots-42": "boots-42\tRECALLED\n:4\n",
		"__complete order list --group ":        "boots\n:4\n",
		"__complete sale pause moutai m":        ":4\n",
		"__complete sale show x":                ":4\n",
	} {
		words := strings.Fields(command)
		if strings.HasSuffix(command, " ") {
			words = append(words, "")
		}
		var out bytes.Buffer
		if said, code := s.place.at(t, nil, &out, words...); code != cli.ExitFine || out.String() != want {
			t.Errorf("%s: exit %d, %q, %s; want %q", command, code, &out, said, want)
		}
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `,{"saleId":"sale-%d","limitGroup":"g%d"}`, i, i/100)
	}
	long := invoking(func(string, []byte) ([]byte, error) {
		return json.Marshal(map[string]any{"statusCode": 200, "body": `{"sales":[` + many.String()[1:] + `]}`})
	})
	var out bytes.Buffer
	if _, code := long.at(t, nil, &out, "__complete", "sale", "list", "--group", ""); code != cli.ExitFine || strings.Count(out.String(), "\n") != 51 {
		t.Errorf("of 5,000 sales: exit %d, %d lines", code, strings.Count(out.String(), "\n"))
	}
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
	profile := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(profile, []byte("[profile mfa]\nrole_arn = arn:aws:iam::1:role/ops\nsource_profile = mfa\nmfa_serial = m\n"+
		"aws_access_key_id = A\naws_secret_access_key = S\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--stack", "mfa"}, {"--url", stack.URL}, {"--stack", "a", "--table", "b"}, {"--env", "none", "--config", "/none"}, {"--table", "T"}} {
		placetest.Offline(t)
		t.Setenv("AWS_CONFIG_FILE", profile)
		t.Setenv("AWS_PROFILE", map[bool]string{true: "mfa"}[flags[1] == "mfa"])
		out.Reset()
		if _, code := (&place{}).at(t, nil, &out, append([]string{"__complete", "sale", "pause"}, append(flags, "")...)...); code != cli.ExitFine || out.String() != ":4\n" {
			t.Errorf("%v: exit %d, %q", flags, code, &out)
		}
	}
}
