package webpage_test

import (
	"testing"
	"testing/fstest"

	"flashsale/shared/webpage"
	"flashsale/shared/webpage/webpagetest"
)

func TestAnswersAreCompressedForWhoAcceptsThat(t *testing.T) {
	page, err := webpage.New(fstest.MapFS{"page.html": {Data: []byte(`<link href="/assets/a.css">{{.}}`)}, "a.css": {Data: []byte("a {}")}}, webpage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for accept, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br": true, "br;q=1, GZIP ; q=0.5": true, "deflate,gzip;q=1.000": true,
		"": false, "identity": false, "br, deflate": false, "gzip;q=0": false, "gzip; q=0.000": false, "xgzip": false,
	} {
		html, err := page.HTML("moutai", 200, accept)
		if err != nil {
			t.Fatal(err)
		}
		for text, r := range map[string]webpage.Response{"moutai": html, "a {}": page.Asset("a.css", accept)} {
			got := webpagetest.Text(t, r)
			if zipped := r.Headers["Content-Encoding"] == "gzip"; zipped != want || r.IsBase64Encoded != want || got[len(got)-len(text):] != text {
				t.Errorf("%q: %v, base64 %t, %s", accept, r.Headers, r.IsBase64Encoded, got)
			}
		}
	}
}
