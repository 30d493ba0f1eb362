package browser

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

// serve serves one page and an echo of the method and the header "X".
func serve(t *testing.T, html string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/echo" {
			io.WriteString(w, r.Method+" "+r.Header.Get("X"))
			return
		}
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

const button = `<p id="p">0</p><button id="b">Go</button><script>
	let n = 0; b.onclick = () => { p.textContent = ++n; fetch("/echo", {method: "POST", headers: {"X": "1"}}).then((r) => r.text()).then((t) => p.textContent = t, (e) => p.textContent = "lost") }
</script>`

func TestATabIsUsedLikeAPersonWould(t *testing.T) {
	tab := shared.Tab(t)
	tab.Open(serve(t, button))
	tab.Click("#b")
	tab.WaitText("POST 1")
	tab.Reload()
	tab.Press(Tabulator)
	tab.Press(Enter)
	tab.WaitText("POST 1")
	if got := tab.Count("POST", "/echo"); got != 2 || tab.Requests()[1].Header["x"] != "1" {
		t.Errorf("%d requests, %v", got, tab.Requests())
	}
	tab.Axe()
	if image, err := os.ReadFile(tab.Screenshot("harness")); err != nil || !strings.HasPrefix(string(image), "\x89PNG") {
		t.Errorf("no picture: %v", err)
	}
}

func TestAnAnswerIsLostRefusedOrReplaced(t *testing.T) {
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1); r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
		}
		io.WriteString(w, button)
	}))
	defer s.Close()
	tab := shared.Tab(t)
	tab.Open(s.URL + "/")
	for _, tt := range []struct {
		answer Answer
		says   string
		serves int64
	}{{Answer{Lost: true}, "lost", 1}, {Answer{Refused: true}, "lost", 0}, {Answer{Status: 503, Body: "busy"}, "busy", 0}, {Answer{}, "onclick", 1}} {
		before := served.Load()
		tab.Intercept(func(Request) Answer { return tt.answer })
		tab.Click("#b")
		tab.Wait(fmt.Sprintf("p.textContent.includes(%q)", tt.says))
		if served.Load()-before != tt.serves {
			t.Errorf("%+v: the server got %d requests, want %d", tt.answer, served.Load()-before, tt.serves)
		}
	}
	tab.Intercept(func(Request) Answer { return Answer{} })
	tab.Offline(true)
	tab.Click("#b")
	tab.Wait("p.textContent === 'lost' && !navigator.onLine")
	tab.Offline(false)
	tab.Click("#b")
	tab.Wait("p.textContent.includes('onclick') && navigator.onLine")
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

func TestTheClockMovesAndIsWrong(t *testing.T) {
	tab := shared.Tab(t)
	tab.Clock(-365 * 24 * time.Hour)
	tab.Open(serve(t, `<p id="p"></p><script>
		setTimeout(() => p.textContent += "B", 90000); setTimeout(() => p.textContent += "A", 60000); setInterval(() => p.textContent += ".", 50000);
	</script>`))
	if year := Eval[int](tab, "new Date().getFullYear()"); year != time.Now().Add(-365*24*time.Hour).Year() {
		t.Errorf("the year is %d", year)
	}
	tab.Advance(100 * time.Second)
	if got := tab.Text("#p"); got != ".AB." {
		t.Errorf("the timers ran as %q", got)
	}
	before := Eval[float64](tab, "performance.now()")
	tab.Sleep(time.Hour)
	if after := Eval[float64](tab, "performance.now()"); after-before > 60000 {
		t.Errorf("performance.now() moved by %v ms during the sleep", after-before)
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
	bad.Open(serve(t, `<img src="/echo"><p style="color:#aaa;background:#fff">pale</p>`))
	bad.Axe()
	if all := strings.Join(r.failed, "\n"); !strings.Contains(all, "image-alt") || !strings.Contains(all, "color-contrast") {
		t.Errorf("axe-core found only: %s", all)
	}
}

func TestNothingButThisMachineIsReached(t *testing.T) {
	tab := shared.Tab(t)
	// localhost is this server, too, but not by the one name that is reached.
	tab.Open(serve(t, `<p id="p"></p><script>
		fetch("http://localhost:" + location.port + "/echo", {mode: "no-cors"}).then(() => p.textContent = "reached", () => p.textContent = "blocked")
	</script>`))
	tab.WaitText("blocked")
}

func TestAPictureIsTakenWhenThePromiseIsKeptAndHasFewColours(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "a.png")
	address := serve(t, `<p style="height:9000px;background:linear-gradient(red,blue)">tall</p>`)
	if err := shared.Picture(path, address, 300, 200, `new Promise((ok) => { document.body.style.background = '#123456'; requestAnimationFrame(() => ok(1)) })`); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != 300 || size.Y != 200 {
		t.Errorf("the picture is %v", size)
	}
	if r, g, b, _ := picture.At(2, 2).RGBA(); r>>8 != 0x12 || g>>8 != 0x34 || b>>8 != 0x56 {
		t.Errorf("the corner is %x %x %x", r>>8, g>>8, b>>8)
	}
	if err := shared.Picture(path, address, 300, 200, "Promise.reject(new Error('never'))"); err == nil {
		t.Error("a broken promise is no error")
	}
}
