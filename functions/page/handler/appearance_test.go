package handler

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"flashsale/functions/page/assets"
)

func TestTheLookComesFromTheEnvironment(t *testing.T) {
	for _, tt := range []struct{ origin, accent, fails string }{
		{"", "", ""}, {"https://images.example", "#9a3412", ""}, {"https://images.example:8443", "", ""}, {"", "#ABCDEF", ""},
		{"http://images.example", "", "IMAGE_ORIGIN"}, {"https://images.example/a", "", "IMAGE_ORIGIN"}, {"https://images.example; script-src *", "", "IMAGE_ORIGIN"},
		{"https://a.example https://b.example", "", "IMAGE_ORIGIN"}, {"'unsafe-inline'", "", "IMAGE_ORIGIN"}, {"*", "", "IMAGE_ORIGIN"},
		{"", "red", "ACCENT_COLOUR"}, {"", "#fff", "ACCENT_COLOUR"}, {"", "#ffffff;} body { display: none", "ACCENT_COLOUR"},
	} {
		t.Setenv("IMAGE_ORIGIN", tt.origin)
		t.Setenv("ACCENT_COLOUR", tt.accent)
		got, err := AppearanceFromEnv()
		if tt.fails == "" && (err != nil || got != Appearance{tt.origin, tt.accent}) || tt.fails != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.fails)) {
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
}

func TestThePolicyNamesTheOneOriginOfPictures(t *testing.T) {
	for origin, want := range map[string]string{"": "; img-src 'self'; ", "https://images.example": "; img-src 'self' https://images.example; "} {
		f := newFunction(t, Appearance{ImageOrigin: origin})
		if r, _ := f.get(t, salePage(t, "moutai", "")); !strings.Contains(r.Headers["Content-Security-Policy"], want) {
			t.Errorf("%q: %s", origin, r.Headers["Content-Security-Policy"])
		}
	}
}

func TestTheShopsColourIsPartOfTheStyleAndItsName(t *testing.T) {
	names := map[string]bool{}
	style := regexp.MustCompile(`style\.[0-9a-f]+\.css`)
	for _, accent := range []string{"", "#9a3412", "#fde047"} {
		f := newFunction(t, Appearance{Accent: accent})
		_, page := f.get(t, salePage(t, "moutai", ""))
		public := style.FindString(page)
		names[public] = true
		_, text := f.get(t, asset(t, public))
		if public == "" || strings.Contains(text, "--accent: "+accent+";") != (accent != "") {
			t.Errorf("%s: %s", accent, text)
		}
	}
	if len(names) != 3 {
		t.Errorf("three styles have the names %v", names)
	}
}

// Every text on the accent has WCAG's AA contrast, and every line stands out from what is
// behind it, light and dark.
func TestAnyColourCanBeRead(t *testing.T) {
	for colours, want := range map[[2]string]string{
		{"#000000", "#ffffff"}: "21.00", {"#777777", "#ffffff"}: "4.48", {"#0a0a0a", "#000000"}: "1.06",
	} {
		if c := fmt.Sprintf("%.2f", contrast(colours[0], colours[1])); c != want {
			t.Errorf("%v have %s, want %s", colours, c, want)
		}
	}
	style, err := assets.Files.ReadFile("style.css")
	for _, s := range schemes {
		if err != nil || !strings.Contains(string(style), "--wash: "+s.wash) || !strings.Contains(string(style), "--ink: "+s.ink) {
			t.Errorf("style.css has other colours than %v (%v)", s, err)
		}
	}
	value := regexp.MustCompile(`--accent: (\S+); --on-accent: (\S+); --edge: (\S+);`)
	for r := 0; r < 256; r += 15 {
		for g := 0; g < 256; g += 15 {
			for b := 0; b < 256; b += 15 {
				accent := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				found := value.FindAllStringSubmatch(Appearance{Accent: accent}.style(), -1)
				if len(found) != len(schemes) {
					t.Fatal(found)
				}
				for i, v := range found {
					if text, line := contrast(v[1], v[2]), contrast(v[3], schemes[i].wash); v[1] != accent || text < 4.5 || line < 3 {
						t.Errorf("%s: text %.2f, line %.2f: %v", accent, text, line, v[0])
					}
				}
			}
		}
	}
}
