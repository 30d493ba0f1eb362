package handler

import (
	"strings"
	"testing"

	"flashsale/shared/httpapi/httpapitest"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := map[string]string{"page-sale.json": `data-sale="moutai"`, "page-group.json": `data-sale="" data-group="trail-runner"`, "page-signin.json": `data-sale=""`}
	for name, want := range tests {
		r, text := newFunction(t).get(t, httpapitest.Event(t, name))
		if r.StatusCode != 200 || !strings.Contains(text, want) || r.Headers["Cache-Control"] != "public, max-age=60" {
			t.Errorf("%s: %d %s, %v; want %s", name, r.StatusCode, text, r.Headers, want)
		}
	}
}
