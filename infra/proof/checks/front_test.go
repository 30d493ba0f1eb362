package checks

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rateOf is the place of the rate of a web ACL's rule.
func rateOf(rule int) string {
	return fmt.Sprintf("Resources/WebAcl/Properties/Rules/%d/Statement/RateBasedStatement/", rule)
}

// webhookLabel is the place of the conditions under which a request is labelled as a webhook.
const webhookLabel = "Resources/WebAcl/Properties/Rules/0/Statement/AndStatement/Statements/"

func TestTheFrontSignsItsRequestsAndTurnsFloodsAway(t *testing.T) {
	tmpl := parseTemplate(t, read(t, templateFile))
	rate, ok := tmpl.number(tmpl.at("Parameters", "PaymentRateLimit", "Default"))
	if !ok {
		t.Fatal("the throttle of webhooks has no default")
	}
	checkFile(t, frontFile, []templateRule{{
		row:   11,
		name:  "the front signs its requests, keeps pages and no claims, and turns floods away but no webhooks",
		check: func(tmpl template) []finding { return frontRules(tmpl, rate) },
		breaks: []edit{
			{"Resources/Distribution/Properties/DistributionConfig/Origins/0/OriginCustomHeaders/0/HeaderName", "X-Origin"},
			{"Resources/Distribution/Properties/DistributionConfig/Origins/0/CustomOriginConfig/OriginProtocolPolicy", "http-only"},
			{"Resources/Distribution/Properties/DistributionConfig/WebACLId", ""},
			{"Resources/Distribution/Properties/DistributionConfig/DefaultCacheBehavior/ViewerProtocolPolicy", "allow-all"},
			{"Resources/Distribution/Properties/DistributionConfig/CacheBehaviors/0", ""},
			{"Resources/Distribution/Properties/DistributionConfig/CacheBehaviors/1", ""},
			{"Resources/WebAcl/Properties/Rules", "[]"},
			{"Resources/WebAcl/Properties/Rules/0", ""},
			{"Resources/WebAcl/Properties/Rules/0/Action", "{Allow: {}}"},
			{"Resources/WebAcl/Properties/Rules/0/Priority", "6"},
			{"Resources/WebAcl/Properties/Rules/0/RuleLabels/0/Name", "webhook"},
			{webhookLabel + "0/ByteMatchStatement/SearchString", "GET"},
			{webhookLabel + "1/RegexMatchStatement/FieldToMatch", "{QueryString: {}}"},
			{webhookLabel + "1/RegexMatchStatement/RegexString", "^/payments/"},
			{webhookLabel + "1/RegexMatchStatement/RegexString", "/payments/[a-z0-9-]+$"},
			{webhookLabel + "1/RegexMatchStatement/RegexString", "^/payments/[a-z0-9/-]+$"},
			{webhookLabel + "1/RegexMatchStatement/RegexString", "^/payments/[a-z.-]+$"},
			{webhookLabel + "1/RegexMatchStatement/RegexString", "^/payments/[a-z]+$"},
			{webhookLabel + "1/RegexMatchStatement/TextTransformations/0/Type", "NORMALIZE_PATH"},
			{webhookLabel + "1", "{ByteMatchStatement: {FieldToMatch: {UriPath: {}}, PositionalConstraint: STARTS_WITH, SearchString: /payments/, TextTransformations: [{Priority: 0, Type: NONE}]}}"},
			{webhookLabel + "0", "{ByteMatchStatement: {FieldToMatch: {UriPath: {}}, PositionalConstraint: STARTS_WITH, SearchString: /payments/, TextTransformations: [{Priority: 0, Type: NONE}]}}"},
			{"Resources/WebAcl/Properties/Rules/2/Action", "{Count: {}}"},
			{"Resources/WebAcl/Properties/Rules/4/Action", "{Count: {}}"},
			{"Resources/WebAcl/Properties/Rules/3/Statement/RateBasedStatement/CustomKeys", ""},
			{rateOf(2) + "ScopeDownStatement/AndStatement/Statements/1", ""},
			{rateOf(3) + "ScopeDownStatement", ""},
			{rateOf(4) + "ScopeDownStatement", ""},
			{rateOf(4) + "ScopeDownStatement/NotStatement/Statement/LabelMatchStatement/Key", "flashsale:other"},
			{rateOf(4) + "Limit", "!Ref PurchaseLimit"},
			{rateOf(5) + "Limit", "!Ref RequestLimit"},
			{"Parameters/PaymentRateLimit/MaxValue", "2000001"},
			{rateOf(5) + "AggregateKeyType", "CONSTANT"},
			{rateOf(5) + "Limit", `!Sub "${PaymentRateLimit}00"`},
			{"Resources/WebAcl/Properties/Rules/5", ""},
			{"Resources/WebAcl/Properties/Rules/5/Action", "{Count: {}}"},
			{"Resources/SalePageCache/Properties/CachePolicyConfig/ParametersInCacheKeyAndForwardedToOrigin/HeadersConfig", "{HeaderBehavior: whitelist, Headers: [Origin]}"},
			{"Resources/PageCache/Properties/CachePolicyConfig/ParametersInCacheKeyAndForwardedToOrigin/QueryStringsConfig/QueryStringBehavior", "all"},
			{"Resources/PageCache/Properties/CachePolicyConfig/DefaultTTL", "60"},
			{"Resources/Distribution/Properties/DistributionConfig/CacheBehaviors/4", ""},
			{"Resources/Distribution/Properties/DistributionConfig/CacheBehaviors/5/CachePolicyId", "!Ref SalePageCache"},
			{"Resources/Distribution/Properties/DistributionConfig/CacheBehaviors/7", ""},
			{"Resources/Distribution/Properties/DistributionConfig/CustomErrorResponses", ""},
			{"Resources/Distribution/Properties/DistributionConfig/CustomErrorResponses/4/ErrorCachingMinTTL", "10"},
			{"Resources/WebAcl/Properties/Scope", "REGIONAL"},
			{"Parameters/OriginSecret/NoEcho", ""},
			{"Resources/WebAclLogging/Properties/RedactedFields/0", ""},
			{"Resources/WebAclLogging/Properties/RedactedFields/1", ""},
		},
	}})
}

// frontRules takes the webhooks a second that the API accepts.
func frontRules(tmpl template, webhooks int) (found []finding) {
	wants := func(n node, want, why string) {
		if n.text() != want && n.target() != want {
			found = append(found, finding{frontFile, 1, why})
		}
	}
	redacted := tmpl.at("Resources", "WebAclLogging", "Properties", "RedactedFields")
	wants(redacted.at("0", "SingleHeader", "Name"), "authorization", "a buyer's token is logged")
	if redacted.at("1", "QueryString").Node == nil {
		found = append(found, finding{frontFile, 1, "the code of a sign-in is logged"})
	}
	d := tmpl.at("Resources", "Distribution", "Properties", "DistributionConfig")
	header := d.at("Origins", "0", "OriginCustomHeaders", "0")
	wants(header.at("HeaderName"), "X-Origin-Verify", "the API cannot tell the front's requests")
	wants(header.at("HeaderValue"), "OriginSecret", "the API cannot tell the front's requests")
	wants(tmpl.at("Parameters", "OriginSecret", "NoEcho"), "true", "the secret is shown")
	wants(d.at("Origins", "0", "CustomOriginConfig", "OriginProtocolPolicy"), "https-only", "the API is called in the clear")
	behaviours := append([]node{d.at("DefaultCacheBehavior")}, d.at("CacheBehaviors").list()...)
	for _, b := range behaviours {
		wants(b.at("ViewerProtocolPolicy"), "https-only", "the front answers in the clear")
	}
	// The first matching behaviour applies: a buyer's own claim or entry must not be cached like
	// the sale page.
	for i, own := range []string{"/sales/*/orders*", "/sales/*/entries*"} {
		if b := d.at("CacheBehaviors", strconv.Itoa(i)); b.at("PathPattern").text() != own || b.at("CachePolicyId").target() != "" {
			found = append(found, finding{frontFile, 1, "a buyer's claim or entry is kept for the next buyer"})
		}
	}
	for _, e := range d.at("CustomErrorResponses").list() {
		if n, ok := tmpl.number(e.at("ErrorCachingMinTTL")); !ok || n > 1 {
			found = append(found, finding{frontFile, 1, "a refusal of one is everybody's"})
		}
	}
	if len(d.at("CustomErrorResponses").list()) == 0 {
		found = append(found, finding{frontFile, 1, "CloudFront keeps errors for ten seconds"})
	}
	if d.at("WebACLId").Node == nil {
		found = append(found, finding{frontFile, 1, "the web ACL is not used"})
	}
	acl := tmpl.at("Resources", "WebAcl", "Properties")
	wants(acl.at("Scope"), "CLOUDFRONT", "CloudFront takes no such web ACL")
	found = append(found, requestRates(tmpl)...)
	found = append(found, webhookRates(tmpl, webhooks)...)
	if headers := tmpl.at("Resources", "SalePageCache", "Properties", "CachePolicyConfig", "ParametersInCacheKeyAndForwardedToOrigin", "HeadersConfig", "HeaderBehavior"); headers.text() != "none" {
		found = append(found, finding{frontFile, 1, "whoever changes a header gets a page that is not kept yet"})
	}
	pages := map[string][]string{}
	for _, b := range d.at("CacheBehaviors").list() {
		policy := b.at("CachePolicyId").target()
		pages[policy] = append(pages[policy], b.at("PathPattern").text())
	}
	if !slices.Equal(pages["SalePageCache"], []string{"/sales/*", "/groups/*"}) {
		found = append(found, finding{frontFile, 1, "every look at a sale costs the API a request"})
	}
	if !slices.Equal(pages["PageCache"], []string{"/sales/*/roll/*", "/s/*", "/g/*", "/assets/*", "/signin"}) {
		found = append(found, finding{frontFile, 1, "every buyer's page costs the API requests"})
	}
	page := tmpl.at("Resources", "PageCache", "Properties", "CachePolicyConfig")
	keyed := page.at("ParametersInCacheKeyAndForwardedToOrigin")
	wants(page.at("DefaultTTL"), "0", "a page that may not be kept is kept")
	wants(keyed.at("QueryStringsConfig", "QueryStringBehavior"), "none", "the code of a sign-in reaches the API's log, and each gets a page of its own")
	wants(keyed.at("HeadersConfig", "HeaderBehavior"), "none", "whoever changes a header gets a page that is not kept yet")
	wants(keyed.at("EnableAcceptEncodingGzip"), "true", "the compressed page goes to those who cannot read it")
	return found
}

// webRequest is what the statements of the web ACL read of a request.
type webRequest struct{ method, path string }

// webhookRequests are those of the two providers.
var webhookRequests = []webRequest{{"POST", "/payments/stripe"}, {"POST", "/payments/standard-webhooks"}}

// otherRequests are no webhooks, or not certainly: how API Gateway reads dots, slashes and
// escapes in a path is not documented.
var otherRequests = []webRequest{
	{"POST", "/sales/s/orders"}, {"GET", "/sales/s"}, {"GET", "/payments/stripe"}, {"POST", "/payments/"}, {"POST", "/payments/stripe/"},
	{"POST", "/payments/../sales/s/orders"}, {"POST", "/payments/.."}, {"POST", "/payments/stripe/../../sales/s/orders"}, {"POST", "/payments/%2e%2e/sales/s/orders"},
	{"POST", "/payments//sales/s/orders"}, {"POST", "//payments/stripe"}, {"POST", "/sales/../payments/stripe"}, {"POST", "/payments/stripe/orders"},
}

// requestRates finds requests that are not counted by address and by token, or purchases that
// are not counted apart.
func requestRates(tmpl template) (found []finding) {
	for _, r := range otherRequests {
		var counted []string
		for _, rule := range tmpl.counting(r) {
			rate := rule.at("Statement", "RateBasedStatement")
			counted = append(counted, rate.at("AggregateKeyType").text()+rate.at("CustomKeys", "0", "Header", "Name").text()+" "+rate.at("Limit").target())
		}
		want := []string{"CUSTOM_KEYSauthorization PurchaseLimit", "IP PurchaseLimit", "IP RequestLimit"}
		if r.method == "GET" {
			want = slices.Delete(want, 1, 2)
		}
		if slices.Sort(counted); !slices.Equal(counted, want) {
			found = append(found, finding{frontFile, 1, fmt.Sprintf("%s %s is limited by %q, want %q", r.method, r.path, counted, want)})
		}
	}
	return found
}

// mostOfRate is the largest limit of a rate-based rule (AWS WAF API reference, RateBasedStatement).
const mostOfRate = 2_000_000_000

// webhookRates finds limits that block a payment provider below the API's own throttle, for
// it sends from few addresses and may send one Authorization header with every webhook; and
// a front without a limit for the webhooks of one address.
func webhookRates(tmpl template, webhooks int) (found []finding) {
	if most, ok := tmpl.number(tmpl.at("Parameters", "PaymentRateLimit", "MaxValue")); !ok || most*1000 > mostOfRate {
		found = append(found, finding{frontFile, 1, "WAF refuses the limit of a PaymentRateLimit that CloudFormation takes"})
	}
	for _, r := range webhookRequests {
		limited := false
		for _, rule := range tmpl.counting(r) {
			rate := rule.at("Statement", "RateBasedStatement")
			window, _ := tmpl.number(rate.at("EvaluationWindowSec"))
			limit, ok := tmpl.number(rate.at("Limit"))
			if n := rate.at("Limit"); n.Tag == "!Sub" {
				var err error
				limit, err = strconv.Atoi(strings.Replace(n.Value, "${PaymentRateLimit}", strconv.Itoa(webhooks), 1))
				ok = err == nil
			}
			if !ok || window == 0 || limit < window*webhooks {
				found = append(found, finding{frontFile, rule.Line, rule.at("Name").text() + " blocks a payment provider before the API throttles it"})
			}
			limited = limited || rate.at("AggregateKeyType").text() == "IP"
		}
		if !limited {
			found = append(found, finding{frontFile, 1, "one address can use up the account's requests by way of " + r.path})
		}
	}
	return found
}

// counting returns the rate-based rules of the web ACL that block and count a request. WAF
// evaluates rules by priority; a rule sees the labels of those before it, and one that
// matches and does not only count is the last. Managed rule groups are left out.
func (t template) counting(r webRequest) (all []node) {
	rules := t.at("Resources", "WebAcl", "Properties", "Rules").list()
	priority := func(rule node) int { n, _ := t.number(rule.at("Priority")); return n }
	slices.SortStableFunc(rules, func(a, b node) int { return priority(a) - priority(b) })
	var labels []string
	for _, rule := range rules {
		statement := rule.at("Statement")
		rate := statement.at("RateBasedStatement")
		switch scope := rate.at("ScopeDownStatement"); {
		case statement.at("ManagedRuleGroupStatement").Node != nil:
		case rate.Node != nil:
			if rule.at("Action", "Block").Node != nil && (scope.Node == nil || r.matches(scope, labels)) {
				all = append(all, rule)
			}
		case !r.matches(statement, labels):
		case rule.at("Action", "Count").Node == nil:
			return all
		default:
			for _, label := range rule.at("RuleLabels").list() {
				labels = append(labels, label.at("Name").text())
			}
		}
	}
	return all
}

// matches reports whether a statement holds for a request with these labels. A statement that
// is not implemented here, text transformations among them, holds for none.
func (r webRequest) matches(statement node, labels []string) bool {
	holds := func(n node) bool { return r.matches(n, labels) }
	for kind, s := range statement.pairs() {
		read := ""
		switch field := s.at("FieldToMatch"); {
		case s.at("TextTransformations", "0", "Type").text() != "NONE":
		case field.at("Method").Node != nil:
			read = r.method
		case field.at("UriPath").Node != nil:
			read = r.path
		}
		switch kind.Value {
		case "AndStatement":
			return !slices.ContainsFunc(s.at("Statements").list(), func(n node) bool { return !holds(n) })
		case "NotStatement":
			return !holds(s.at("Statement"))
		case "LabelMatchStatement":
			return s.at("Scope").text() == "LABEL" && slices.Contains(labels, s.at("Key").text())
		case "RegexMatchStatement":
			re, err := regexp.Compile(s.at("RegexString").text())
			return err == nil && read != "" && re.MatchString(read)
		case "ByteMatchStatement":
			want := s.at("SearchString").text()
			return want != "" && (read == want || s.at("PositionalConstraint").text() == "STARTS_WITH" && strings.HasPrefix(read, want))
		}
	}
	return false
}
