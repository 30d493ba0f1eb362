package buyer

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
)

// During a deployment a page may come from a version whose files the function that is asked
// for them does not have.
func TestAPageOfAnotherVersionWorks(t *testing.T) {
	t.Parallel()
	saleID := shop.create(t, sale{})
	tab := shop.tab(t, newID("user"))
	hash := regexp.MustCompile(`\.[0-9a-f]{16}\.`)
	newer := regexp.MustCompile(`(?m)^.*id="(receipt|picture|price|sizes|bar|left|about|link)".*$`) // elements that the release before lacks
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Path != "/s/"+saleID {
			return browser.Answer{}
		}
		a, err := shop.Send(t.Context(), http.MethodGet, r.Path, "")
		if err != nil {
			t.Error(err)
		}
		return browser.Answer{Status: 200, Header: map[string]string{"Content-Type": "text/html", "Content-Security-Policy": a.Header.Get("Content-Security-Policy")},
			Body: newer.ReplaceAllString(hash.ReplaceAllString(string(a.Body), ".0123456789abcdef."), "")}
	})
	tab.Open(shop.page(saleID))
	waitState(tab, "open")
	tab.Click(button)
	waitState(tab, "confirmed")
	if styled := browser.Eval[bool](tab, "getComputedStyle(main).maxWidth !== 'none'"); !styled {
		t.Error("the page has no style")
	}
	if n := tab.Count("GET", "/assets/page.0123456789abcdef.js"); n != 1 {
		t.Errorf("%d requests for the other version's script, want 1", n)
	}
}

// The words may be of another version than the script that shows them, which then goes on without.
func TestAWordThatIsMissingStopsNothing(t *testing.T) {
	t.Parallel()
	tab := shop.tab(t, newID("user"))
	tab.Change("words.js", `unpaid: "Reserved. Not paid yet.",`, "")
	held(tab, time.Now().Add(time.Hour), "/pay")
	tab.Open(shop.page(shop.createUnpaid(t)))
	waitState(tab, "unpaid")
	tab.WaitText("Pay now")
}

func TestTheScriptsTypesAreRight(t *testing.T) {
	t.Parallel()
	compiler := filepath.Join(browser.Folder(root), "node_modules", "typescript", "bin", "tsc")
	out, err := exec.CommandContext(t.Context(), "node", compiler, "--project", filepath.Join(root, "infra/proof/browser/tsconfig.json")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
