// Package browser opens pages in a real headless Chromium and looks at them as people do:
// what they can read, press and reach with the keyboard, and which requests the page makes.
// `make browser` installs what it needs.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
)

// limit bounds every wait; it only keeps a broken page from hanging a test.
const limit = 40 * time.Second

// Folder is where `make browser` installs the browser's path and the npm packages, below
// the project's folder.
func Folder(root string) string { return filepath.Join(root, ".build", "browser") }

// Browser is a running Chromium with an empty profile. It reaches 127.0.0.1 only.
type Browser struct {
	root   string // the project's folder
	ctx    context.Context
	output *child.Tail
	stop   context.CancelFunc
}

// Start starts the browser that `make browser` found. root is the project's folder.
func Start(root string) (*Browser, error) {
	path, err := os.ReadFile(filepath.Join(Folder(root), "program"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("there is no browser: run make browser")
	} else if err != nil {
		return nil, fmt.Errorf("find the browser: %w", err)
	}
	b := &Browser{root: root, output: &child.Tail{}}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(strings.TrimSpace(string(path))),
		chromedp.CombinedOutput(b.output),
		// Nothing but the stack under test, whatever a page refers to.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("proxy-server", "direct://"),
		// Chromium needs a sandbox of its own except as root, where it has none.
		chromedp.Flag("no-sandbox", os.Getuid() == 0),
		chromedp.DisableGPU,
	)...)
	b.ctx, _ = chromedp.NewContext(ctx)
	b.stop = stop
	if err := chromedp.Do(b.ctx); err != nil {
		stop()
		return nil, fmt.Errorf("start the browser: %w\n%s", err, b.output)
	}
	return b, nil
}

// Launch starts a local stack in memory. root is the project's folder.
func Launch(root string, arguments ...string) (*launch.Stack, error) {
	stack, err := launch.New(launch.Built(root), "", arguments...)
	if err != nil {
		return nil, err
	}
	if stack.Command.Dir, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	return stack, stack.StartWithin(time.Minute)
}

// Stop ends the browser and removes its profile.
func (b *Browser) Stop() error {
	err := chromedp.Cancel(b.ctx)
	b.stop()
	if err != nil {
		return fmt.Errorf("stop the browser: %w", err)
	}
	return nil
}

// Axe examines the page with axe-core and fails the test for each barrier that it finds.
func (t *Tab) Axe() {
	t.tb.Helper()
	script, err := os.ReadFile(filepath.Join(Folder(t.browser.root), "node_modules", "axe-core", "axe.min.js"))
	t.must("find axe-core (make browser installs it)", err)
	if !Eval[bool](t, "!!window.axe") {
		Eval[bool](t, string(script)+";true")
	}
	type result struct {
		Passes   int
		Findings []string
	}
	// The headless browser paints with few colours of its own, and colours are examined
	// as they are computed. What axe cannot decide counts as a finding.
	found := Eval[result](t, `axe.run(document).then((r) => ({
		passes: r.passes.length,
		findings: [...r.violations, ...r.incomplete].flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + ": " + n.failureSummary)),
	}))`)
	if found.Passes == 0 {
		t.tb.Error("axe-core examined nothing")
	}
	for _, finding := range found.Findings {
		t.tb.Errorf("axe-core: %s", finding)
	}
}

//go:embed clock.js
var clockScript string

// Clock gives the pages that are opened afterwards a clock which is wrong by a duration,
// and which Advance moves.
func (t *Tab) Clock(wrong time.Duration) {
	t.tb.Helper()
	t.Before(fmt.Sprintf("(%s)(%d)", clockScript, wrong.Milliseconds()))
}

// Advance moves the page's clock forward; timers that are due on the way run in order. What
// they wait for, such as an answer, takes real time and may come later. On a busy machine an hour of
// a page that counts down the seconds takes some of real time.
func (t *Tab) Advance(by time.Duration) {
	t.tb.Helper()
	for ; by > 0; by -= time.Hour {
		Eval[bool](t, fmt.Sprintf("(clock.advance(%d), true)", min(by, time.Hour).Milliseconds()))
	}
}
