package load

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/books"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

// executed runs a command and returns its exit code and all that it prints.
func executed(ctx context.Context, c *cobra.Command, flags ...string) (code int, out string) {
	var both bytes.Buffer
	c.SetOut(&both)
	c.SetErr(&both)
	code = cli.Execute(ctx, c, flags)
	return code, both.String()
}

// loaded runs a command for half a second.
func loaded(t *testing.T, c *cobra.Command, more ...string) (code int, out, report string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.html")
	code, out = executed(t.Context(), c, append(strings.Fields("--rate 200 --duration 500ms --seed 5 --report "+path), more...)...)
	page, _ := os.ReadFile(path) // there is none if it could not run
	return code, out, string(page)
}

func TestARehearsalLoadsASaleAndShowsTheReceipt(t *testing.T) {
	for name, c := range map[string]struct {
		flaws   flaws
		missing error // of the table
		code    int
		says    []string
		page    string
	}{
		"a rehearsal": {says: []string{"rehearsal: sale rehearsal-", " of 5 units on 5 shards at ", "no broken promise was seen", "receipt of sale rehearsal-", "balanced: ", "sold-out",
			"\n5 orders; what they cost is counted on AWS only"}, page: "<svg"},
		"with an internal error": {flaws: flaws{breaks: true}, code: cli.ExitBad, says: []string{"BROKEN"}, page: "<b>Broken.</b>"},
		"without a receipt":      {missing: errors.New("no way"), code: cli.ExitBad, says: []string{"no receipt: no way"}, page: "<b>Broken.</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			h, url := opened(t, c.flaws)
			o := &options{open: func(context.Context, trial) (books.DynamoDB, string, error) { return h.db, "ShopTable", c.missing }}
			code, out, page := loaded(t, o.rehearsing(&target.Flags{URL: url}), "--stock", "5")
			if code != c.code || !strings.Contains(page, c.page) || strings.Contains(out+page, "token-of-1") {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, out)
			}
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestARecountIsBrokenUnlessTheBooksBalance(t *testing.T) {
	for says, c := range map[string]struct {
		receipt *books.Receipt
		err     error
		want    recount
	}{
		"balanced: ":           {&books.Receipt{Balanced: true}, nil, recount{made: true}},
		"NOT BALANCED":         {&books.Receipt{Findings: []books.Finding{{Promise: "P1"}}}, nil, recount{made: true, broken: true}},
		"no receipt: no route": {nil, errors.New("no\n  route"), recount{broken: true}},
	} {
		got := recountOf(c.receipt, c.err)
		if c.want.text = got.text; got != c.want || !strings.Contains(got.text, says) {
			t.Errorf("%+v, want %+v with %q", got, c.want, says)
		}
	}
}

func TestAMissingStackIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	code, out, _ := loaded(t, new(options).rehearsing(&target.Flags{URL: s.URL}))
	if code != cli.ExitUnknown || !strings.Contains(out, "make run") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
