package operator

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/sale"
)

func TestATableThatCannotBeReadEndsWithOneLine(t *testing.T) {
	targettest.Offline(t)
	if total := system.Tries*callTime + (system.Tries-1)*callPause; total >= 30*time.Second || reachTime >= 30*time.Second {
		t.Errorf("a call may take %v, the first one %v", total, reachTime)
	}
	oldTime, oldPause := callTime, callPause
	callTime, callPause = 20*time.Millisecond, time.Millisecond
	defer func() { callTime, callPause = oldTime, oldPause }()
	hang := make(chan struct{})
	defer close(hang)
	at := func(url string) *target {
		return &target{found: &system.Target{System: client.System{Client: client.New(url, client.Options{}), Local: true, DynamoDB: url, Table: "T"}}}
	}
	answering := func(answer http.HandlerFunc) *target {
		engine := httptest.NewServer(answer)
		t.Cleanup(engine.Close)
		return at(engine.URL)
	}
	for name, p := range map[string]*target{
		"nothing listens": at("http://127.0.0.1:1"),
		"nothing answers": answering(func(http.ResponseWriter, *http.Request) { <-hang }),
		"it fails":        answering(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusInternalServerError) }),
		"no credentials":  {where: &system.Flags{Table: "T"}},
		"no stack runs":   {where: &system.Flags{URL: "http://127.0.0.1:1"}},
	} {
		for _, command := range []string{"books receipt moutai", "sale list", "order show --sale moutai --buyer alice"} {
			want := cli.ExitUnknown
			if name == "no credentials" && !strings.HasPrefix(command, "books") {
				want = cli.ExitUsage // a table alone is not enough
			}
			var out bytes.Buffer
			if said, code := p.at(t.Context(), nil, &out, strings.Fields(command)...); code != want || strings.Count(said, "\n") > 2 || !strings.Contains(said, "flashsale: ") || out.Len() > 0 {
				t.Errorf("%s, %s: exit %d, said %q, printed %q", name, command, code, said, &out)
			}
		}
	}
}

func TestALackThatIsJoinedWithAnUnknownIsUnknown(t *testing.T) {
	joined := func(errs ...error) error { return fmt.Errorf("the list is not complete: %w", errors.Join(errs...)) }
	nowhere, lost := sale.Refuse(sale.SaleNotFound, ""), errors.New("no connection")
	if one, both := cli.Code(answered(joined(nowhere, nowhere))), cli.Code(answered(joined(nowhere, lost))); one != cli.ExitBad || both != cli.ExitUnknown {
		t.Errorf("exit %d and, if one of them cannot be read, %d", one, both)
	}
}

func TestAReceiptIsOfEachSaleThatIsAskedForAndCanBeRead(t *testing.T) {
	refuse := func(key string) func(*world) {
		return func(w *world) { w.db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", key) }
	}
	without := func(pk, sk string) func(*world) { return func(w *world) { w.remove(pk, sk) } }
	newer := func(w *world) { w.newer("boots") }
	both, boots := []string{"boots", "moutai"}, []string{"boots"}
	for name, tt := range map[string]struct {
		sales   []string
		change  func(*world)
		command string
		code    int
		says    []string
		counts  int // of receipts
	}{
		"without a sale the list":   {both, nil, "books list", cli.ExitFine, []string{"SALE    STATE  CLOSES\n", "boots   open   2026-", "moutai  open   2026-"}, 0},
		"of a table without a sale": {nil, nil, "books list", cli.ExitFine, []string{"SALE  STATE  CLOSES\n"}, 0},
		"one":                       {both, nil, "books receipt boots", cli.ExitFine, []string{"receipt of sale boots"}, 1},
		"one that is not there":     {boots, nil, "books receipt maotai", cli.ExitBad, []string{"`flashsale books list --env dev` names those of the table T"}, 0},
		"all, and one is broken":    {both, without("SALE#boots", "SALE"), "books receipt --all", cli.ExitBad, []string{"the sale item is missing: to everybody this sale does not exist (P11)"}, 2},
		"all, one broken and one unread": {both, func(w *world) { w.newer("boots"); w.remove("SALE#moutai", "SALE") }, "books receipt --all", cli.ExitUnknown,
			[]string{"the sale item is missing", "no receipt of sale boots: stored for a newer version"}, 1},
		"all, and one cannot be read":       {both, refuse("SALE#boots"), "books receipt --all", cli.ExitUnknown, []string{"no receipt of sale boots: query SALE#boots: "}, 1},
		"all, and one is for newer":         {both, newer, "books receipt --all", cli.ExitUnknown, []string{"no receipt of sale boots: stored for a newer version"}, 1},
		"the list cannot be read":           {boots, refuse("SALES"), "books receipt --all", cli.ExitUnknown, []string{"the table T cannot be read: "}, 0},
		"all of a table without any":        {nil, nil, "books receipt --all", cli.ExitFine, []string{"the table T has no sale\n"}, 0},
		"all, but one is not listed":        {boots, without("SALES", "boots"), "books receipt --all", cli.ExitBad, []string{"NOT BALANCED:\n  - the item ", "#boots"}, 0},
		"its events, but there is no file":  {boots, nil, "books receipt boots --events none.jsonl", cli.ExitUsage, []string{"read the file: open none.jsonl"}, 0},
		"all events, but there is no file":  {boots, nil, "books receipt --all --events none.jsonl", cli.ExitUsage, []string{"read the file: open none.jsonl"}, 0},
		"for a machine, of a table without": {nil, nil, "books receipt --all -o json", cli.ExitFine, []string{`"findings": []`}, 0},
	} {
		in(t, func(t *testing.T, w *world) {
			for _, id := range tt.sales {
				w.create(sale.Creation{SaleID: id})
			}
			if tt.change != nil {
				tt.change(w)
			}
			if said := w.says(tt.command, tt.code, tt.says...); strings.Count("\n"+said, "\nreceipt of sale ") != tt.counts {
				t.Errorf("%s: want %d receipts in\n%s", name, tt.counts, said)
			}
		})
	}
}
