package handler

import (
	"path/filepath"
	"strings"
	"testing"

	"flashsale/shared/httpapi/httpapitest"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := map[string]string{"page-sale.json": `data-sale="moutai"`, "page-group.json": `data-sale="" data-group="trail-runner"`, "page-signin.json": `data-sale=""`}
	files, err := filepath.Glob("../../../events/page*.json")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d events in events/ and %d here (%v): each needs its test", len(files), len(tests), err)
	}
	for name, want := range tests {
		r, text := newFunction(t).get(t, httpapitest.Event(t, name))
		if r.StatusCode != 200 || !strings.Contains(text, want) || r.Headers["Cache-Control"] != "public, max-age=60" {
			t.Errorf("%s: %d %s, %v; want %s", name, r.StatusCode, text, r.Headers, want)
		}
	}
}
