package handler

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
)

// Appearance is what a shop may choose about the page.
type Appearance struct {
	ImageOrigin string // the only origin of pictures besides the page's own; "" for none
	Accent      string // #rrggbb; "" for the page's own colour
}

var (
	isOrigin = regexp.MustCompile(`^https://[a-z0-9.-]+(:[0-9]+)?$`)
	isColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
)

// AppearanceFromEnv reads the environment. It fails for what the template does not allow, which
// could add to the policy or to the style (P19).
func AppearanceFromEnv() (Appearance, error) {
	l := Appearance{ImageOrigin: os.Getenv("IMAGE_ORIGIN"), Accent: os.Getenv("ACCENT_COLOUR")}
	switch {
	case l.ImageOrigin != "" && !isOrigin.MatchString(l.ImageOrigin):
		return Appearance{}, fmt.Errorf("IMAGE_ORIGIN: %q is not https:// and a host", l.ImageOrigin)
	case l.Accent != "" && !isColour.MatchString(l.Accent):
		return Appearance{}, fmt.Errorf("ACCENT_COLOUR: %q is not # and six hexadecimal digits", l.Accent)
	}
	return l, nil
}

// The colours in style.css that an accent must stand out from (--wash) and that text has,
// light and dark.
var schemes = []struct{ wash, ink, css string }{
	{"#f5f4f2", "#1c1917", ":root { --accent: %s; --on-accent: %s; --edge: %s; }\n"},
	{"#221e1b", "#f5f5f4",
		"@media (prefers-color-scheme: dark) { :root { --accent: %s; --on-accent: %s; --edge: %s; } }\n"},
}

// style returns what follows style.css. Text on the accent is black or white, one of which
// always has a contrast of 4.5 with it; lines and bars have the accent if that stands out
// from what is behind them, with a contrast of 3, and are as dark as text otherwise.
func (l Appearance) style() (css string) {
	if l.Accent == "" {
		return ""
	}
	for _, s := range schemes {
		on, edge := "#ffffff", l.Accent
		if contrast(l.Accent, "#000000") > contrast(l.Accent, on) {
			on = "#000000"
		}
		if contrast(l.Accent, s.wash) < 3 {
			edge = s.ink
		}
		css += fmt.Sprintf(s.css, l.Accent, on, edge)
	}
	return css
}

// contrast is WCAG's contrast ratio of two colours, 1 to 21.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is WCAG's relative luminance of #rrggbb.
func luminance(colour string) (sum float64) {
	n, _ := strconv.ParseUint(colour[1:], 16, 32)
	for shift, weight := range map[int]float64{16: 0.2126, 8: 0.7152, 0: 0.0722} {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}
