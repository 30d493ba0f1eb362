package checks

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// corsForAll is AWS's managed policy CORS-with-preflight-and-SecurityHeadersPolicy.
const corsForAll = "eaab4381-ed33-4a86-88ca-d9558dc6cd63"

// The first matching behaviour applies: a buyer's own claim or entry must not be cached like the sale page.
func TestTheFrontKeepsPagesButNothingOfABuyer(t *testing.T) {
	front := parseTemplate(t, frontFile)
	d := front.at("Resources.Distribution.Properties.DistributionConfig")
	pages := map[string][]string{}
	for i, b := range d.at("CacheBehaviors").list() {
		b.expect(t, "ViewerProtocolPolicy", "https-only")
		path, policy := b.at("PathPattern").text(), b.at("CachePolicyId").target()
		if own := []string{"/sales/*/orders*", "/sales/*/entries*"}; i < len(own) && (path != own[i] || policy != "") {
			b.errorf(t, "a buyer's claim or entry is kept for the next buyer: behaviour %d is for %s, want %s", i, path, own[i])
		}
		pages[policy] = append(pages[policy], path)
		everybodys := slices.Contains([]string{"/sales/*", "/groups/*", "/sales/*/roll/*", "/assets/*"}, path)
		if readable := b.at("ResponseHeadersPolicyId").text() == corsForAll; readable != everybodys {
			b.errorf(t, "pages of every origin can read %s: %t, want %t", path, readable, everybodys)
		}
	}
	for policy, want := range map[string][]string{
		"SalePageCache": {"/sales/*", "/groups/*"}, "PageCache": {"/sales/*/roll/*", "/assets/*"}, "PageLanguageCache": {"/s/*", "/g/*", "/signin"},
	} {
		if !slices.Equal(pages[policy], want) {
			d.errorf(t, "%s keeps %q, want %q: every look would cost the API a request", policy, pages[policy], want)
		}
	}
	// CloudFront keeps an error for ten seconds, unless told otherwise.
	for _, e := range d.at("CustomErrorResponses").list() {
		if n, err := strconv.Atoi(e.at("ErrorCachingMinTTL").text()); err != nil || n > 1 {
			e.errorf(t, "a refusal of one is everybody's for %d s", n)
		}
	}
	for what, n := range map[string]node{
		"there is no rule for errors": d.at("CustomErrorResponses.0"), "the web ACL is not used": d.at("WebACLId"),
		"the code of a sign-in is logged": front.at("Resources.WebAclLogging.Properties.RedactedFields.1.QueryString"),
	} {
		if n.Node == nil {
			n.errorf(t, "%s", what)
		}
	}
}

// A payment provider sends from few addresses and may send one Authorization header with every webhook: what limits
// addresses and tokens leaves webhooks out, by the label of the first rule, and their own limit is above the API's.
func TestTheFrontTurnsFloodsAwayButNoWebhooks(t *testing.T) {
	tmpl := parseTemplate(t, frontFile)
	rules := tmpl.at("Resources.WebAcl.Properties.Rules")
	const (
		isPost    = "Statements.0.ByteMatchStatement.SearchString"
		isWebhook = "LabelMatchStatement.Key"
		noWebhook = "NotStatement.Statement." + isWebhook
		path      = "0.Statement.AndStatement.Statements.1.RegexMatchStatement"
		label     = "flashsale:webhook"
	)
	for place, want := range map[string]string{
		"0.Priority": "0", "0.RuleLabels.0.Name": label, "0.Statement.AndStatement." + isPost: "POST", path + ".TextTransformations.0.Type": "NONE",
	} {
		rules.expect(t, place, want)
	}
	if rules.at("0.Action.Count").Node == nil || rules.at(path, "FieldToMatch.UriPath").Node == nil {
		rules.errorf(t, "webhooks are not labelled by their path alone")
	}
	for i, rates := range map[int]map[string]string{
		2: {"AggregateKeyType": "IP", "Limit": "100", "ScopeDownStatement.AndStatement." + isPost: "POST", "ScopeDownStatement.AndStatement.Statements.1." + noWebhook: label},
		3: {"CustomKeys.0.Header.Name": "authorization", "Limit": "100", "ScopeDownStatement." + noWebhook: label},
		4: {"AggregateKeyType": "IP", "Limit": "3000", "ScopeDownStatement." + noWebhook: label},
		5: {"AggregateKeyType": "IP", "Limit": "200000", "EvaluationWindowSec": "300", "ScopeDownStatement." + isWebhook: label},
	} {
		rule := rules.at(strconv.Itoa(i))
		rule.expect(t, "Priority", strconv.Itoa(i))
		for place, want := range rates {
			rule.expect(t, "Statement.RateBasedStatement."+place, want)
		}
		if rule.at("Action.Block").Node == nil {
			rule.errorf(t, "%s blocks nobody", rule.at("Name").text())
		}
	}
	// Three times in five minutes what the API admits in all.
	if rate, _ := tmpl.number(parseTemplate(t, templateFile).at("Resources.Api.Properties.RouteSettings").child("POST /payments/{provider}").at("ThrottlingRateLimit")); 3*300*rate > 200_000 {
		tmpl.errorf(t, "the limit of webhooks is below what the API admits, %d a second", rate)
	}
	// How API Gateway reads dots, slashes and escapes in a path is not documented.
	re := regexp.MustCompile(rules.at(path, "RegexString").text())
	for request, want := range map[string]bool{
		"/payments/stripe": true, "/payments/standard-webhooks": true,
		"/sales/s/orders": false, "/payments/": false, "/payments/stripe/": false, "/payments/../sales/s/orders": false, "/payments/..": false,
		"/payments/stripe/../../sales/s/orders": false, "/payments/%2e%2e/sales/s/orders": false, "/payments//sales/s/orders": false,
		"//payments/stripe": false, "/sales/../payments/stripe": false, "/payments/stripe/orders": false,
	} {
		if got := re.MatchString(request); got != want {
			rules.errorf(t, "%s is a webhook: %t, want %t", request, got, want)
		}
	}
}
