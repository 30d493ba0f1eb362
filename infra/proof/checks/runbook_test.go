package checks

import (
	"regexp"
	"slices"
	"testing"
)

var alarmQuote = regexp.MustCompile(`^\w+Alarm$`)

// unexplained returns the alarms that the runbook does not explain, and those that it
// explains but do not exist.
func unexplained(tmpl template, name, runbook string) (found []finding) {
	raised := map[string]bool{}
	for _, a := range tmpl.alarms() {
		raised[a.id] = true
		if !slices.ContainsFunc(quotesOf(runbook), func(q quote) bool { return q.text == a.id }) {
			found = append(found, finding{name, 0, "nothing is said of " + a.id})
		}
	}
	for _, q := range quotesOf(runbook) {
		if alarmQuote.MatchString(q.text) && !raised[q.text] && tmpl.at("Parameters", q.text).Node == nil {
			found = append(found, finding{name, q.line, "there is no alarm " + q.text})
		}
	}
	return found
}

func TestTheRunbookExplainsEveryAlarm(t *testing.T) {
	const name = "infra/docs/RUNBOOK.md"
	// The alarms of all templates, as if they were one.
	tmpl, runbook := parseTemplate(t, read(t, templateFile)), string(read(t, name))
	for _, file := range []string{alarmsFile, frontFile} {
		resources := tmpl.at("Resources")
		resources.Content = append(resources.Content, parseTemplate(t, read(t, file)).at("Resources").Content...)
	}
	for _, f := range unexplained(tmpl, name, runbook) {
		t.Error(f)
	}
	without := regexp.MustCompile("`FrontBlocksAlarm`").ReplaceAllString(runbook, "`NoSuchAlarm`")
	if got := unexplained(tmpl, name, without); len(got) != 2 {
		t.Errorf("of an alarm exchanged for another one is said: %v", got)
	}
}
