package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
)

var shared *Browser

func TestMain(m *testing.M) {
	var err error
	if shared, err = Start("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// serve serves one page, at every path.
func serve(t *testing.T, html string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<!doctype html><html lang="en"><title>T</title><body><main><h1>H</h1>`+html+`</main></body></html>`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, a ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, a...))
}

// The engine answers every page, so the local stack relies on the ports that it chooses.
func TestNoPageConnectsToAShelteredEngine(t *testing.T) {
	tab := shared.Tab(t)
	tab.Open(serve(t, ""))
	for _, sheltered := range []bool{false, true} {
		e, err := engine.Start(t.Context(), engine.Options{Binary: enginetest.Binary(t), Sheltered: sheltered})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Stop() }()
		for _, mode := range []string{"cors", "no-cors"} {
			reached := Eval[bool](tab, fmt.Sprintf(`fetch(%q, {method: "POST", mode: %q}).then(() => true, () => false)`, e.Endpoint(), mode))
			if reached == sheltered {
				t.Errorf("sheltered: %t; a page reaches %s by %s: %t", sheltered, e.Endpoint(), mode, reached)
			}
		}
	}
}

func (t *Tab) hasProblem() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.problems) > 0
}

func TestFaultsOfThePageFailTheTest(t *testing.T) {
	for _, html := range []string{
		`<script>throw new Error("broken")</script>`,
		`<script>Promise.reject(new Error("broken"))</script>`,
		`<script>console.error("broken")</script>`,
		`<script>
			document.head.insertAdjacentHTML("beforeend", '<meta http-equiv="Content-Security-Policy" content="img-src \'none\'">')
			document.body.insertAdjacentHTML("beforeend", '<img src="/broken" alt="">')
		</script>`,
	} {
		tab := shared.Tab(t)
		tab.Open(serve(t, html))
		for end := time.Now().Add(limit); time.Now().Before(end) && !tab.hasProblem(); time.Sleep(10 * time.Millisecond) {
		}
		tab.Forgive("broken")
	}
	bad := shared.Tab(t)
	r := &recorder{TB: t}
	bad.tb = r
	bad.Open(serve(t, `<img src="/picture"><p style="color:#aaa;background:#fff">pale</p>`))
	bad.Axe()
	if all := strings.Join(r.failed, "\n"); !strings.Contains(all, "image-alt") || !strings.Contains(all, "color-contrast") {
		t.Errorf("axe-core found only: %s", all)
	}
}

func TestNothingButThisMachineIsReached(t *testing.T) {
	tab := shared.Tab(t)
	// localhost is this server, too, but not by the one name that is reached.
	tab.Open(serve(t, `<p id="p"></p><script>
		fetch("http://localhost:" + location.port, {mode: "no-cors"}).then(() => p.textContent = "reached", () => p.textContent = "blocked")
	</script>`))
	tab.WaitText("blocked")
}
