package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
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
	if picture, err = small(picture); err != nil {
		return err
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}

// small returns a PNG with the 256 colours that it has most, which is a third of its bytes: the others are on the edges of letters.
func small(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	times, bounds := map[color.Color]int{}, full.Bounds()
	for y := range bounds.Max.Y {
		for x := range bounds.Max.X {
			times[full.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(times), func(a, b color.Color) int { return times[b] - times[a] })
	few := image.NewPaletted(bounds, colors[:min(len(colors), 256)])
	draw.Draw(few, bounds, full, bounds.Min, draw.Src)
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, few)
	return b.Bytes(), err
}
