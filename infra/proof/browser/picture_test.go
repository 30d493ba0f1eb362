package browser

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

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
