package operator

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	"flashsale/infra/ops/place/placetest"
	"flashsale/shared/sale"
)

func TestATableThatCannotBeReadEndsWithOneLine(t *testing.T) {
	placetest.Offline(t)
	if total := system.Tries*callTime + (system.Tries-1)*callPause; total >= 30*time.Second || reachTime >= 30*time.Second {
		t.Errorf("a call may take %v, the first one %v", total, reachTime)
	}
	oldTime, oldPause := callTime, callPause
	callTime, callPause = 20*time.Millisecond, time.Millisecond
	defer func() { callTime, callPause = oldTime, oldPause }()
	hang := make(chan struct{})
	defer close(hang)
	at := func(url string) *place {
		return &place{found: &system.Place{System: client.System{Client: client.New(url, client.Options{}), Local: true, DynamoDB: url, Table: "T"}}}
	}
	answering := func(answer http.HandlerFunc) *place {
		engine := httptest.NewServer(answer)
		t.Cleanup(engine.Close)
		return at(engine.URL)
	}
	for name, p := range map[string]*place{
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
			if said, code := p.at(t, nil, &out, strings.Fields(command)...); code != want || strings.Count(said, "\n") > 2 || !strings.Contains(said, "flashsale: ") || out.Len() > 0 {
				t.Errorf("%s, %s: exit %d, said %q, printed %q", name, command, code, said, &out)
			}
		}
	}
}

func TestThatThereIsNoneIsAnAnswer(t *testing.T) {
	s := newShop(t)
	s.place.db = s.db
	for _, command := range []string{
		"sale show nowhere", "sale export nowhere", "sale list --group none", "sale show --group none", "order list nowhere", "order list --group none", "order show 523415642750058497",
		"order show --sale nowhere --buyer alice", "refund list nowhere", "books receipt nowhere", "books archive nowhere --file " + t.TempDir() + "/f",
	} {
		if said, code := s.place.does(t, command); code != cli.ExitBad || !strings.Contains(said, "flashsale: ") {
			t.Errorf("%s: exit %d, want %d: %s", command, code, cli.ExitBad, said)
		}
	}
	joined := func(errs ...error) error { return fmt.Errorf("the list is not complete: %w", errors.Join(errs...)) }
	nowhere, lost := sale.Refuse(sale.SaleNotFound, ""), errors.New("no connection")
	if one, both := cli.Code(answered(joined(nowhere, nowhere))), cli.Code(answered(joined(nowhere, lost))); one != cli.ExitBad || both != cli.ExitUnknown {
		t.Errorf("exit %d and, if one of them cannot be read, %d", one, both)
	}
}

func TestAReceiptIsOfEachSaleThatIsAskedForAndCanBeRead(t *testing.T) {
	refuse := func(key string) func(*dynamotest.DB) {
		return func(db *dynamotest.DB) { db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("", key) }
	}
	without := func(pk, sk string) func(*dynamotest.DB) {
		return func(db *dynamotest.DB) { remove(t, db, pk, sk) }
	}
	newer := func(db *dynamotest.DB) {
		if err := db.Tamper(t.Context(), "T", "SALE#boots", "SALE", "minReader", 1000); err != nil {
			t.Fatal(err)
		}
	}
	both, boots := []string{"boots", "moutai"}, []string{"boots"}
	for name, tt := range map[string]struct {
		sales   []string
		change  func(*dynamotest.DB)
		command string
		code    int
		says    []string
		counts  int // of receipts
	}{
		"without a sale the list":   {both, nil, "books list", cli.ExitFine, []string{"SALE    STATE  CLOSES\n", "boots   open   2000-", "moutai  open   2000-"}, 0},
		"of a table without a sale": {nil, nil, "books list", cli.ExitFine, []string{"SALE  STATE  CLOSES\n"}, 0},
		"one":                       {both, nil, "books receipt boots", cli.ExitFine, []string{"receipt of sale boots"}, 1},
		"one that is not there":     {boots, nil, "books receipt maotai", cli.ExitBad, []string{"`flashsale books list` names those of the table T"}, 0},
		"all, and one is broken":    {both, without("SALE#boots", "SALE"), "books receipt --all", cli.ExitBad, []string{"the sale item is missing: to everybody this sale does not exist (P11)"}, 2},
		"all, one broken and one unread": {both, func(db *dynamotest.DB) { newer(db); remove(t, db, "SALE#moutai", "SALE") }, "books receipt --all", cli.ExitUnknown,
			[]string{"the sale item is missing", "no receipt of sale boots: stored for a newer release"}, 1},
		"all, and one cannot be read":       {both, refuse("SALE#boots"), "books receipt --all", cli.ExitUnknown, []string{"no receipt of sale boots: query SALE#boots: "}, 1},
		"all, and one is for newer":         {both, newer, "books receipt --all", cli.ExitUnknown, []string{"no receipt of sale boots: stored for a newer release"}, 1},
		"the list cannot be read":           {boots, refuse("SALES"), "books receipt --all", cli.ExitUnknown, []string{"the table T cannot be read: "}, 0},
		"all of a table without any":        {nil, nil, "books receipt --all", cli.ExitFine, []string{"the table T has no sale\n"}, 0},
		"all, but one is not listed":        {boots, without("SALES", "boots"), "books receipt --all", cli.ExitBad, []string{"NOT BALANCED:\n  - the item ", "#boots"}, 0},
		"its events, but there is no file":  {boots, nil, "books receipt boots --events none.jsonl", cli.ExitUsage, []string{"read the file: open none.jsonl"}, 0},
		"all events, but there is no file":  {boots, nil, "books receipt --all --events none.jsonl", cli.ExitUsage, []string{"read the file: open none.jsonl"}, 0},
		"for a machine, of a table without": {nil, nil, "books receipt --all -o json", cli.ExitFine, []string{`"findings": []`}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, _ := listed(t, tt.sales...)
				if tt.change != nil {
					tt.change(db)
				}
				tells(t, db, tt.command, tt.code, tt.says...)
				if said, _ := does(t, db, tt.command); strings.Count("\n"+said, "\nreceipt of sale ") != tt.counts {
					t.Errorf("want %d receipts in\n%s", tt.counts, said)
				}
			})
		})
	}
}
