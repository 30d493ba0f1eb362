package sale

import (
	"strings"
	"testing"
)

func TestAnAddressIsHttpsAndNothingElse(t *testing.T) {
	for address, origin := range map[string]string{
		"":                                    "",
		"https://images.example/a.jpg":        "https://images.example",
		"https://images.example:8443/a?b=c#d": "https://images.example:8443",
		"https://images.example":              "https://images.example",
		"https://images.example/~a":           "https://images.example",
		"https://x.example/" + strings.Repeat("a", MaxURL-18): "https://x.example",
		"https://x.example/" + strings.Repeat("a", MaxURL-17): "refused",
		"http://images.example/a.jpg":                         "refused",
		"javascript:alert(1)":                                 "refused",
		"JavaScript:alert(1)//https://images.example":         "refused",
		"//images.example/a.jpg":                              "refused",
		"/a.jpg":                                              "refused",
		"https:///a.jpg":                                      "refused",
		"https://:443/a.jpg":                                  "refused",
		"https://images.example\\@evil.example/a.jpg":         "refused",
		"https://user@images.example/a.jpg":                   "refused",
		"https://images.example/a b.jpg":                      "refused",
		"https://images.example/\"><script>":                  "refused",
		"https://images.example/a\n.jpg":                      "refused",
		"https://images.example/茅台.jpg":                       "refused",
		"https://images.example/%zz":                          "refused",
	} {
		for field, p := range map[string]*Presentation{"image": {Image: address}, "link": {Link: address}} {
			err := p.check()
			if refused := origin == "refused"; CodeOf(err) == InvalidRequest != refused || refused && !strings.HasPrefix(err.Error(), "invalid-request: "+field+" must be") {
				t.Errorf("%s %q: %v", field, address, err)
			}
		}
		if got := httpsOrigin(address); got != strings.TrimPrefix(origin, "refused") {
			t.Errorf("%q is of %q", address, got)
		}
	}
}

func TestAPictureIsOfTheOneOrigin(t *testing.T) {
	const ours = "https://images.example"
	for _, tt := range []struct{ image, origin, want string }{
		{"", "", ""}, {"", ours, ""}, {ours + "/a.jpg", ours, ""},
		{ours + "/a.jpg", "", "no image can be shown: the stack's parameter ImageOrigin is empty"},
		{"https://other.example/a.jpg", ours, "image must be of " + ours + ", which is the stack's parameter ImageOrigin"},
		{ours + ":8443/a.jpg", ours, "image must be of"}, {ours + ".evil.example/a.jpg", ours, "image must be of"},
	} {
		err := (&Presentation{Image: tt.image}).CheckImage(tt.origin)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q with %q: %v", tt.image, tt.origin, err)
		}
	}
}

func TestAnAboutMayHaveSeveralLines(t *testing.T) {
	for about, want := range map[string]Code{
		"53 % vol.\nA numbered bottle, 2026.": "", strings.Repeat("茅", MaxAbout): "", "<b>plain</b>": "",
		strings.Repeat("茅", MaxAbout+1): InvalidRequest, "a\tb": InvalidRequest, "a\rb": InvalidRequest, "a\x1b[31m": InvalidRequest, "\xff": InvalidRequest,
	} {
		c := creation(func(c *Creation) { c.About = about })
		if err := c.Check(); CodeOf(err) != want {
			t.Errorf("%q: %v", about, err)
		}
	}
}

func TestADescriptionChangesWhatItGives(t *testing.T) {
	was := Sale{ID: "moutai", Name: "Feitian Moutai", Presentation: Presentation{Image: "https://images.example/a.jpg", About: "53 % vol.", Link: "https://shop.example/"}}
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name string
		d    Description
		want string // of the error; "" for none
		then func(*Sale)
	}{
		{"a name", Description{Name: text("Moutai")}, "", func(s *Sale) { s.Name = "Moutai" }},
		{"no name", Description{Name: text("")}, "", func(s *Sale) { s.Name = "moutai" }},
		{"a picture", Description{Image: text("https://images.example/b.jpg")}, "", func(s *Sale) { s.Image = "https://images.example/b.jpg" }},
		{"no picture", Description{Image: text("")}, "", func(s *Sale) { s.Image = "" }},
		{"a text and no link", Description{About: text("54 % vol."), Link: text("")}, "", func(s *Sale) { s.About, s.Link = "54 % vol.", "" }},
		{"nothing", Description{}, "give at least one of", nil},
		{"a name of two lines", Description{Name: text("a\nb")}, "name must be", nil},
		{"a text that is too long", Description{About: text(strings.Repeat("a", MaxAbout+1))}, "about must be", nil},
		{"a script as link", Description{Link: text("javascript:alert(1)")}, "link must be", nil},
		{"a picture without https", Description{Image: text("http://images.example/b.jpg")}, "image must be", nil},
		{"an invalid sale", Description{SaleID: "a#b", Name: text("Moutai")}, "saleId must be", nil},
	} {
		if tt.d.SaleID == "" {
			tt.d.SaleID = "moutai"
		}
		err := tt.d.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if tt.then == nil {
			continue
		}
		want := was
		if tt.then(&want); tt.d.Apply(was) != want {
			t.Errorf("%s: %+v", tt.name, tt.d.Apply(was))
		}
	}
}
