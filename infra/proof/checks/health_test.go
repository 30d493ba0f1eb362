package checks

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flashsale/functions/operate/handler"
)

// The operators' page colours a sign by the alarm that it belongs to.
func TestTheHealthOfTheStackIsJudgedByItsAlarms(t *testing.T) {
	all := map[string]resource{}
	for _, file := range []string{templateFile, alarmsFile, frontFile} {
		for _, a := range parseTemplate(t, file).alarms() {
			all[a.id] = a
		}
	}
	if known := slices.Sorted(maps.Keys(handler.Alarms)); !slices.Equal(known, slices.Sorted(maps.Keys(all))) {
		t.Errorf("the page knows the alarms %q, the templates have %q", known, slices.Sorted(maps.Keys(all)))
	}
	runbook, heading := map[string]string{}, "" // the heading under which an alarm's entry is
	for line := range strings.Lines(read(t, "infra/docs/RUNBOOK.md")) {
		if text, ok := strings.CutPrefix(line, "### "); ok {
			heading = strings.ToLower(strings.NewReplacer("`", "", ":", "", " ", "-").Replace(strings.TrimSpace(text)))
			runbook[strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "`"))] = heading
		}
		if name := regexp.MustCompile("^- \\*\\*`(\\w+Alarm)`\\*\\*").FindStringSubmatch(line); name != nil {
			runbook[name[1]] = heading
		}
	}
	for name, place := range handler.Alarms {
		if pages := slices.Contains(all[name].at("Properties.AlarmActions").references(), "PageTopic"); pages != place.Page {
			t.Errorf("%s wakes somebody: the page says %t", name, place.Page)
		}
		want := "tickets-" + place.Section
		if place.Page {
			want = strings.ToLower(name)
		}
		if runbook[name] != want {
			t.Errorf("%s is under #%s in the runbook, and the page links to #%s", name, runbook[name], want)
		}
	}
	for limit, figure := range handler.Limits {
		alarm, metric, ofExpression := strings.Cut(limit, " ")
		p := all[alarm].at("Properties")
		got, _ := parseTemplate(t, alarmsFile).number(p.at("Threshold"))
		if ofExpression {
			divisor := regexp.MustCompile(`FILL\(` + metric + `, 0\) / (\d+)`)
			for _, m := range p.at("Metrics").list() {
				if found := divisor.FindStringSubmatch(m.at("Expression").text()); found != nil {
					got, _ = strconv.Atoi(found[1])
				}
			}
		}
		if int64(got) != figure {
			t.Errorf("%s is %d in the templates and %d on the page", limit, got, figure)
		}
	}
}
