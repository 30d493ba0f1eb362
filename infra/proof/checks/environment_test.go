package checks

import (
	"go/token"
	"slices"
	"testing"
)

// goReads are variables that the Go runtime itself reads.
var goReads = []string{"GOGC", "GOMEMLIMIT"}

func TestEnvironmentIsWhatTheCodeReads(t *testing.T) {
	code := map[string]map[string]token.Pos{}
	for _, f := range parseTemplate(t, read(t, templateFile)).functions() {
		code[f.id] = needsOf(t, f.folder()).variables
	}
	checkTemplate(t, []templateRule{
		{
			row:  14,
			name: "a function is given exactly the variables that its code reads",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					given := f.variables()
					for name, at := range code[f.id] {
						if given[name].Node == nil {
							found = append(found, f.find("%s is not given %s, which %s reads", f.id, name, deployed(t).position(at)))
						}
					}
					for name, value := range given {
						if _, read := code[f.id][name]; !read && !slices.Contains(goReads, name) {
							found = append(found, value.find("%s is given %s and never reads it", f.id, name))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/Environment/Variables/TABLE_NAME", ""},
				{"Resources/PurchaseFunction/Properties/Environment", ""},
				{"Resources/QueryFunction/Properties/Environment", "{Variables: {ORDER_QUEUE_URL: !Ref OrderQueue}}"},
			},
		},
		{
			row:  14,
			name: "the table is a table of the template, and the order queue one that a function reads",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					table, uses := f.variables()["TABLE_NAME"]
					if _, ok := tmpl.resource("AWS::DynamoDB::Table", table.target()); uses && !ok {
						found = append(found, f.find("%s: TABLE_NAME is not a table of this template", f.id))
					}
					queue, ok := f.variables()["ORDER_QUEUE_URL"]
					if ok && !slices.ContainsFunc(tmpl.eventSources(), func(s eventSource) bool { return s.queue.id == queue.target() }) {
						found = append(found, queue.find("%s sends to a queue that nobody reads", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/Environment/Variables/TABLE_NAME", "ledger"},
				{"Resources/PurchaseFunction/Properties/Environment/Variables/ORDER_QUEUE_URL", "!Ref OrderDeadLetterQueue"},
			},
		},
	})
}
