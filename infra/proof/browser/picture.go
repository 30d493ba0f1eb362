package browser

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Picture opens an address in a window of that size, waits until each condition in JavaScript
// has held in turn, and writes what is then to be seen as a PNG. A condition may act: what it
// asks for, such as another page, is there before the next one holds.
func (b *Browser) Picture(path, address string, width, height int64, conditions ...string) error {
	const patience = 4 * time.Minute
	tab, end := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	defer end()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height))
	if err == nil { // no picture of a movement
		_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}},
		})
	}
	if err == nil {
		err = chromedp.Do(ctx, chromedp.Navigate(address))
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", address, err)
	}
	for _, condition := range conditions {
		// An error is a page that is on its way to the next one.
		for holds := false; !holds; holds, _ = chromedp.Run(ctx, chromedp.Evaluate[bool](condition)) {
			if time.Sleep(20 * time.Millisecond); ctx.Err() != nil {
				return fmt.Errorf("wait at %s for %s: %w", address, condition, ctx.Err())
			}
		}
	}
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take the picture of %s: %w", address, err)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}
