package checks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// logFilter is a metric filter of the access log: the metric that it counts, and its
// pattern. It implements the part of "Filter pattern syntax for metric filters"
// (CloudWatch Logs user guide) that this project uses: a comparison of a member with a
// quoted text, in which * at an end stands for anything, && and ||.
type logFilter struct{ metric, pattern string }

func (t template) logFilters() (all []logFilter) {
	for _, f := range t.resources("AWS::Logs::MetricFilter") {
		p := f.at("Properties")
		all = append(all, logFilter{p.at("MetricTransformations", "0", "MetricName").text(), p.at("FilterPattern").text()})
	}
	return all
}

// accessLine is a line of the access log: API Gateway logs "-" for the status of an
// integration that it did not call, and for one that is a function what Lambda answered,
// 200 whatever the function's own status is (HTTP API logging variables).
func accessLine(route, status, integration string) string {
	return fmt.Sprintf(`{"routeKey":%q,"status":%q,"integrationStatus":%q}`, route, status, integration)
}

// Requests by what the access log has of them.
var (
	purchaseAnswered  = accessLine("POST /sales/{saleId}/orders", "202", "200")
	purchaseRefused   = accessLine("POST /sales/{saleId}/orders", "403", "200") // too early, not eligible
	purchaseLimited   = accessLine("POST /sales/{saleId}/orders", "429", "200") // one user sends too many
	purchaseForged    = accessLine("POST /sales/{saleId}/orders", "401", "-")
	purchaseUnscoped  = accessLine("POST /sales/{saleId}/orders", "403", "-")
	purchaseThrottled = accessLine("POST /sales/{saleId}/orders", "429", "-")
	pageAround        = accessLine("GET /sales/{saleId}", "403", "200") // around the front
	pageThrottled     = accessLine("GET /sales/{saleId}", "429", "-")
	webhookTaken      = accessLine("POST /payments/{provider}", "200", "200")
	webhookRefused    = accessLine("POST /payments/{provider}", "400", "200")
	webhookUnknown    = accessLine("POST /payments/{provider}", "404", "200") // the provider's secrets are not deployed
	webhookAround     = accessLine("POST /payments/{provider}", "403", "200") // around the front
	webhookThrottled  = accessLine("POST /payments/{provider}", "429", "-")
	webhookFailed     = accessLine("POST /payments/{provider}", "500", "200")
	webhookUnserved   = accessLine("POST /payments/{provider}", "503", "-") // no environment
)

var logToken = regexp.MustCompile(`\s*(\(|\)|\{|\}|&&|\|\||!=|=|"[^"]*"|\$\.\w+|\S)`)

// matches reports whether the filter counts the line; it panics on what it does not
// implement, which a test reports.
func (f logFilter) matches(line string) bool {
	var members map[string]string
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		panic(err)
	}
	var tokens []string
	for _, m := range logToken.FindAllStringSubmatch(f.pattern, -1) {
		tokens = append(tokens, m[1])
	}
	next := func() string {
		if len(tokens) == 0 {
			panic(f.pattern + " ends too early")
		}
		token := tokens[0]
		tokens = tokens[1:]
		return token
	}
	var either func(end string) bool
	operand := func() bool {
		token := next()
		if token == "(" {
			return either(")")
		}
		member, ok := strings.CutPrefix(token, "$.")
		value, known := members[member]
		if !ok || !known {
			panic(f.pattern + ": no member of a line is " + token)
		}
		operator, want := next(), strings.Trim(next(), `"`)
		is := value == want || strings.HasSuffix(want, "*") && strings.HasPrefix(value, strings.TrimSuffix(want, "*"))
		switch operator {
		case "=":
			return is
		case "!=":
			return !is
		}
		panic(f.pattern + ": " + operator + " is no comparison")
	}
	either = func(end string) bool {
		holds, operator := operand(), ""
		for {
			token := next()
			switch {
			case token == end:
				return holds
			case operator != "" && token != operator:
				panic(f.pattern + ": && and || stand beside each other without parentheses")
			}
			operator = token
			right := operand()
			holds = operator == "&&" && holds && right || operator == "||" && (holds || right)
		}
	}
	if next() != "{" {
		panic(f.pattern + " is no pattern of JSON")
	}
	holds := either("}")
	if len(tokens) > 0 {
		panic(fmt.Sprintf("%s: %q is left over", f.pattern, tokens))
	}
	return holds
}

func TestTheAccessLogsMetricsCountTheRequestsThatTheyAreCalledAfter(t *testing.T) {
	wants := map[string][]string{
		"asked":           {purchaseAnswered, purchaseRefused, purchaseLimited, purchaseForged, purchaseUnscoped, purchaseThrottled},
		"refused":         {purchaseForged, purchaseUnscoped, purchaseThrottled, pageAround, pageThrottled, webhookAround, webhookThrottled},
		"webhooksFailed":  {webhookThrottled, webhookFailed, webhookUnserved},
		"webhooksRefused": {webhookRefused, webhookUnknown, webhookAround},
	}
	all := []string{
		purchaseAnswered, purchaseRefused, purchaseLimited, purchaseForged, purchaseUnscoped, purchaseThrottled, pageAround, pageThrottled,
		webhookTaken, webhookRefused, webhookUnknown, webhookAround, webhookThrottled, webhookFailed, webhookUnserved,
	}
	filters := parseTemplate(t, read(t, alarmsFile)).logFilters()
	if len(filters) != len(wants) {
		t.Errorf("there are %d filters, want %d", len(filters), len(wants))
	}
	for _, f := range filters {
		for _, line := range all {
			if got, want := f.matches(line), slices.Contains(wants[f.metric], line); got != want {
				t.Errorf("row 17: %s counts %s: %t, want %t", f.metric, line, got, want)
			}
		}
	}
}
