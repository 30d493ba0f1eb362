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
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/fakestack"
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
		flaws fakestack.Flaws
		table func(db *dynamotest.DB, saleID string) error // before it is recounted
		code  int
		says  []string
		page  string
	}{
		"a rehearsal": {says: []string{"rehearsal: sale rehearsal-", " of 5 units on 5 shards at ", "no broken promise was seen", "receipt of sale rehearsal-", "balanced: ", "sold-out",
			"\n5 orders; what they cost is counted on AWS only"}, page: "<svg"},
		"with an internal error": {flaws: fakestack.Flaws{Breaks: true}, code: cli.ExitBad, says: []string{"BROKEN"}, page: "<b>Broken.</b>"},
		"without a receipt":      {table: func(*dynamotest.DB, string) error { return errors.New("no\n  way") }, code: cli.ExitBad, says: []string{"no receipt: no way"}, page: "<b>Broken.</b>"},
		"with wrong books": {table: func(db *dynamotest.DB, saleID string) error {
			return db.Tamper(t.Context(), "ShopTable", "STOCK#"+saleID+"#0", "STOCK", "stock", 1)
		}, code: cli.ExitBad, says: []string{"NOT BALANCED"}, page: "<b>Broken.</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			h, url := fakestack.Open(t, c.flaws)
			o := &options{open: func(saleID string) (_ books.DynamoDB, err error) {
				if c.table != nil {
					err = c.table(h.DB, saleID)
				}
				return h.DB, err
			}}
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

func TestAMissingStackIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	code, out, _ := loaded(t, new(options).rehearsing(&target.Flags{URL: s.URL}))
	if code != cli.ExitUnknown || !strings.Contains(out, "make run") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
