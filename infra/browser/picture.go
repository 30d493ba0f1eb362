package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"
)

// Picture opens an address in a window of that size, waits for a promise of JavaScript, and
// writes what is then to be seen as a PNG.
func (b *Browser) Picture(path, address string, width, height int64, promise string) error {
	const patience = 2 * time.Minute
	tab, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	defer end()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(address)); err != nil {
		return fmt.Errorf("open %s: %w", address, err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](promise, chromedp.EvalAwaitPromise)); err != nil {
		return fmt.Errorf("wait for %s: %w", address, err)
	}
	image, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take the picture of %s: %w", address, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	if err := os.WriteFile(path, image, 0o644); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}
