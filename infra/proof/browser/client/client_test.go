// Package client tests flashsale.js, the client of the buyer's page and of shops' own pages, without a browser: in node, against
// scripted answers and by a clock of its own.
package client

import (
	"bytes"
	"os/exec"
	"strconv"
	"testing"

	"flashsale/functions/page/assets"
	"flashsale/shared/webpage"
)

func TestTheClientKnowsWhatShopsGetWrong(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=dot", "flashsale.test.mjs").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Shops load it into pages of their own: from the stack, which compresses by gzip, or from a host of theirs, which has brotli.
func TestTheClientIsSmall(t *testing.T) {
	t.Parallel()
	page, err := webpage.New(assets.Files, webpage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := page.Asset("flashsale.js", "")
	compress := exec.CommandContext(t.Context(), "node", "-e", `console.log(zlib.brotliCompressSync(fs.readFileSync(0)).length)`)
	compress.Stdin = bytes.NewBufferString(served.Body)
	out, err := compress.Output()
	if err != nil {
		t.Fatal(err)
	}
	brotli, _ := strconv.Atoi(string(bytes.TrimSpace(out)))
	gzip := len(page.Asset("flashsale.js", "gzip").Body) * 3 / 4
	if served.StatusCode != 200 || brotli == 0 || brotli > 4096 || gzip > 4608 {
		t.Errorf("flashsale.js: %d, %d bytes by brotli, %d by gzip; want 200, at most 4096 and 4608", served.StatusCode, brotli, gzip)
	}
	t.Logf("flashsale.js: %d bytes by brotli, %d by gzip", brotli, gzip)
}
