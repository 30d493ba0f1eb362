package checks

import (
	"bytes"
	"fmt"
	"image/png"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	// pictures is the folder of the README's pictures; maxPicture bounds each, in bytes.
	pictures   = "infra/docs/pictures"
	maxPicture = 200 << 10
)

// badPictures are the pictures that are not small PNGs or that a document does not show.
func badPictures(content map[string]string, documents map[string]string) (found []finding) {
	for name, text := range content {
		note := func(format string, args ...any) {
			found = append(found, finding{name, 0, fmt.Sprintf(format, args...)})
		}
		if len(text) >= maxPicture {
			note("has %d bytes, want fewer than %d (make screenshots takes it again)", len(text), maxPicture)
		}
		if _, err := png.DecodeConfig(bytes.NewReader([]byte(text))); err != nil {
			note("is no PNG: %v", err)
		}
		for document, markdown := range documents {
			if !slices.Contains(linksOf(document, markdown), name) {
				note("is not in %s", document)
			}
		}
	}
	return found
}

func TestTheReadmesPicturesAreSmallAndShown(t *testing.T) {
	content := map[string]string{}
	for _, name := range files(t) {
		if path.Dir(name) == pictures {
			content[name] = read(t, name)
		}
	}
	if len(content) != 2 {
		t.Errorf("%d pictures, want 2", len(content))
	}
	documents := map[string]string{}
	for _, name := range []string{"README.md", "infra/docs/README.zh-CN.md"} {
		documents[name] = read(t, name)
	}
	report(t, badPictures(content, documents))
}

func TestABadPictureIsNoticed(t *testing.T) {
	const tiny = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55"
	for _, tt := range []struct {
		content, markdown string
		want              int
	}{
		{tiny, "![a](pictures/a.png)", 0},
		{tiny, "[a](a.png)", 1},
		{"GIF89a", "![a](pictures/a.png)", 1},
		{tiny + strings.Repeat("x", maxPicture), "![a](pictures/a.png)", 1},
	} {
		if found := badPictures(map[string]string{pictures + "/a.png": tt.content}, map[string]string{"infra/docs/x.md": tt.markdown}); len(found) != tt.want {
			t.Errorf("%q: %v, want %d findings", tt.markdown, found, tt.want)
		}
	}
}
