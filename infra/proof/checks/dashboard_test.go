package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// shown is one metric of a dashboard; references stay as ${...}.
type shown struct {
	namespace, metric string
	dimensions        map[string]string
}

var reference = regexp.MustCompile(`\$\{[A-Za-z0-9.:]+\}`)

// dashboard reads the metrics of the template's dashboard. "." and "..." repeat the
// previous metric's value at that position.
func dashboard(tmpl template) (body node, all []shown, err error) {
	boards := tmpl.resources("AWS::CloudWatch::Dashboard")
	if len(boards) != 1 {
		return tmpl.at("Resources"), nil, fmt.Errorf("%d dashboards, want one", len(boards))
	}
	body = written(boards[0].at("Properties", "DashboardBody"))
	var content struct {
		Widgets []struct {
			Properties struct {
				Title   string
				Metrics [][]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body.Value), &content); err != nil {
		return body, nil, err
	}
	known := slices.Collect(maps.Keys(templateNames(tmpl)))
	for _, id := range reference.FindAllString(body.Value, -1) {
		name, _, _ := strings.Cut(strings.Trim(id, "${}"), ".")
		if !slices.Contains(known, name) {
			return body, nil, fmt.Errorf("%s is not in the template", id)
		}
	}
	for _, w := range content.Widgets {
		if w.Properties.Title == "" {
			return body, nil, errors.New("a widget has no title")
		}
		var last []string
		for _, row := range w.Properties.Metrics {
			line := expand(row, last)
			if len(line) < 2 || len(line)%2 != 0 {
				return body, nil, fmt.Errorf("%s: %v is no metric", w.Properties.Title, row)
			}
			m := shown{line[0], line[1], map[string]string{}}
			for i := 2; i < len(line); i += 2 {
				m.dimensions[line[i]] = line[i+1]
			}
			all = append(all, m)
			last = line
		}
	}
	return body, all, nil
}

// written returns the text of a body. A body that is a text and the values of its names
// has, for each name, what stands there if its condition holds.
func written(body node) node {
	if body.at("0").Node == nil {
		return body
	}
	text := *body.at("0").Node
	for name, value := range body.at("1").pairs() {
		text.Value = strings.ReplaceAll(text.Value, "${"+name.Value+"}", alternatives(value)[0].Value)
	}
	return node{&text}
}

func expand(row []any, last []string) (line []string) {
	var words []string
	for _, cell := range row {
		if word, ok := cell.(string); ok {
			words = append(words, word)
		}
	}
	for i, word := range words {
		switch {
		case word == "..." && len(last) >= len(words)-1:
			line = append(line, last[:len(last)-(len(words)-1-i)]...)
		case word == "." && len(line) < len(last):
			line = append(line, last[len(line)])
		default:
			line = append(line, word)
		}
	}
	return line
}

// templateNames returns the names that a reference can have.
func templateNames(tmpl template) map[string]bool {
	all := map[string]bool{"AWS::Region": true}
	for _, r := range tmpl.all() {
		all[r.id] = true
	}
	for p := range tmpl.at("Parameters").pairs() {
		all[p.Value] = true
	}
	return all
}
