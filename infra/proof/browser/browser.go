// Package browser opens pages in a real headless Chromium and looks at them as people do:
// what they can read, press and reach with the keyboard, and which requests the page makes.
// `make browser` installs what it needs.
package browser

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"flashsale/infra/local/child"
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

// Stop ends the browser and removes its profile.
func (b *Browser) Stop() error {
	err := chromedp.Cancel(b.ctx)
	b.stop()
	if err != nil {
		return fmt.Errorf("stop the browser: %w", err)
	}
	return nil
}
