package rehearse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// document is the API's OpenAPI document.
const document = "../../../proof/contract/openapi.yaml"

func made(t *testing.T, url string) []byte {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	made, err := script(text, url, 0.5, 4*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ran is what the stand-in for k6 prints.
type ran struct {
	Counts   map[string]int
	Failed   []string
	Scenario struct {
		Rate               int
		TimeUnit, Duration string
	}
}

// runK6 runs buyers by the script in node.
func runK6(t *testing.T, script []byte, buyers int, variables ...string) (r ran, complaint string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"k6.js": script, "package.json": []byte(`{"type":"module"}`), "tokens": []byte("t0\nt1\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "node_modules", "k6"), os.DirFS("testdata/k6")); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", fmt.Sprintf(`import k6, { counts, failed } from 'k6';
const { default: buyer, options } = await import('./k6.js');
for (k6.scenario.iterationInTest = 0; k6.scenario.iterationInTest < %d; k6.scenario.iterationInTest++) buyer();
console.log(JSON.stringify({ counts, failed, scenario: options.scenarios.buyers }));`, buyers))
	c.Dir, c.Env = dir, append(os.Environ(), variables...)
	var said strings.Builder
	c.Stderr = &said
	if out, err := c.Output(); err == nil {
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return r, said.String()
}

func TestTheK6ScriptsBuyersOrderUntilTheyHaveAnOrderID(t *testing.T) {
	t.Parallel()
	var asked []string
	answers := []string{
		`503 {}`, `202 {"state":"PENDING"}`, `200 {"state":"PENDING"}`, `200 {"state":"CONFIRMED","orderId":"7"}`, // the first buyer
		`409 {"code":"sold-out"}`, // the second
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.Method, " ", r.URL.EscapedPath(), " ", r.Header.Get("Authorization"), " ", r.Header.Get("Idempotency-Key")))
		status, body, _ := strings.Cut(answers[len(asked)-1], " ")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(map[string]int{"503": 503, "202": 202, "200": 200, "409": 409}[status])
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	got, complaint := runK6(t, made(t, server.URL+"/"), 3, "SALE=a b", "TOKENS=tokens")
	if complaint != "" {
		t.Fatal(complaint)
	}
	if diff := cmp.Diff(map[string]int{"orders_accepted": 1, "orders_confirmed": 1}, got.Counts); diff != "" || len(got.Failed) > 0 {
		t.Errorf("counted (-want +got):\n%s\nfailed: %q", diff, got.Failed)
	}
	if s := got.Scenario; s.Rate != 30 || s.TimeUnit != "60s" || s.Duration != "4s" {
		t.Errorf("the scenario is %+v, want one buyer every two seconds, for four", s)
	}
	buy, mine := "POST /sales/a%20b/orders Bearer ", "GET /sales/a%20b/orders/me Bearer "
	want := []string{buy + "t0 k6-0", buy + "t0 k6-0", mine + "t0 ", mine + "t0 ", buy + "t1 k6-1"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the API was asked (-want +got):\n%s", diff)
	}
}

func TestTheK6ScriptNoticesAStatusThatIsNotDocumented(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{418: "purchase: the status is documented", 500: "purchase: no internal error"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		got, complaint := runK6(t, made(t, server.URL), 1, "SALE=s", "TOKENS=tokens")
		server.Close()
		if complaint != "" || !slices.Contains(got.Failed, want) {
			t.Errorf("%d: failed %q, want %q; %s", status, got.Failed, want, complaint)
		}
	}
}

func TestTheK6ScriptNeedsASaleAndATokenForEachBuyer(t *testing.T) {
	t.Parallel()
	text := made(t, "http://127.0.0.1:1")
	for variables, want := range map[string]string{"TOKENS=tokens": "give SALE", "SALE=s TOKENS=tokens RATE=fast": "give SALE", "SALE=s TOKENS=tokens RATE=1": "too few for 4 buyers"} {
		if _, complaint := runK6(t, text, 1, strings.Fields(variables)...); !strings.Contains(complaint, want) {
			t.Errorf("%s: %q, want %q", variables, complaint, want)
		}
	}
}

func TestAnAddressIsTextInTheK6Script(t *testing.T) {
	t.Parallel()
	const evil = "http://127.0.0.1:1/'\"`${process.exit(3)}\u2028</script>\\"
	got, complaint := runK6(t, made(t, evil), 0, "SALE=s", "TOKENS=tokens")
	if complaint != "" || got.Scenario.Rate != 30 {
		t.Errorf("%+v, %s", got, complaint)
	}
}

func TestADocumentThatTheK6ScriptDoesNotFitIsAnError(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoilt := range map[string]string{
		"no YAML":           "\t",
		"no operation":      strings.ReplaceAll(string(text), "operationId: claim\n", "operationId: mine\n"),
		"another parameter": strings.ReplaceAll(string(text), "/sales/{saleId}/orders:", "/sales/{saleId}/{size}/orders:"),
		"a status class":    strings.ReplaceAll(string(text), `"503": { $ref: "#/components/responses/NotNow" }`, `5XX: { $ref: "#/components/responses/NotNow" }`),
	} {
		if _, err := script([]byte(spoilt), "http://127.0.0.1:1", 1, time.Second); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
