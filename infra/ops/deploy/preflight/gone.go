package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flashsale/infra/local/cloudformation"
)

// gone are the parameters of earlier releases, by name.
var gone = map[string]struct {
	was   string                                // its default
	lines func(value string, front bool) string // that take its place; nil if the template has a fixed value
	says  string                                // besides, or instead
}{
	"SignIn":                 {",,,openid", signInLines(""), ""},
	"OperatorSignIn":         {",,,openid", signInLines("Operator"), ""},
	"PurchaseThrottle":       {"5000/2500", rateLine("PurchaseRate"), "the burst is 5,000"},
	"QueryThrottle":          {"3600/5000", rateLine("QueryRate"), "the burst is 5,000"},
	"PageThrottle":           {"1200/1200", nil, "each route of the page admits 1,200 requests a second; more need a front"},
	"PaymentThrottle":        {"200/400", nil, "the API admits 200 webhooks a second and 400 in a burst; providers repeat the others"},
	"ReservedConcurrency":    {"Purchase:400,Query:0,Page:0,Pay:0,Operate:10,Finalize:20,Reconcile:1,Release:1,Draw:1,Publish:0", reserveLine, "it decides whether the others have theirs: Operate 10, Finalize FinalizeMaximumConcurrency, Reconcile, Release and Draw 1, and Query, Page, Pay and Publish none"},
	"ApiDomainName":          {"", domainLine("DomainName", false), oneDomain},
	"ApiCertificateArn":      {"", domainLine("CertificateArn", false), oneDomain},
	"FrontDomainName":        {"", domainLine("DomainName", true), oneDomain},
	"FrontCertificateArn":    {"", domainLine("CertificateArn", true), oneDomain},
	"DrawSeconds":            {"900/3600/60", nil, "a roll is read after 900 s, the dice come 3,600 s later, and calls are 60 s apart"},
	"JwtScope":               {"", nil, "any token of JwtIssuer with the audience JwtAudience is a buyer's: let the issuer give that audience to no other tokens"},
	"WarmReadUnitsPerSecond": {"12000", nil, "the table keeps the warm throughput for reads that it has"},
	"WriteUnitsAlarm":        {"240000", nil, "TableSpendingAlarm opens a ticket at 240,000 write units in a minute"},
	"FrontRequestLimit":      {"3000", nil, ownLimits},
	"FrontPurchaseLimit":     {"100", nil, ownLimits},
	"EligibilityTimeoutMs":   {"300", nil, "PurchaseFunction waits 300 ms for EligibilityUrl"},
	"ReleaseGraceSeconds":    {"120", nil, "an unpaid order is released 120 s after its payBy"},
	"SeedScheduleTimezone":   {"UTC", nil, "SeedScheduleExpression is in UTC"},
	"LogLevel":               {"INFO", nil, "functions log at INFO"},
}

const oneDomain = "there is one domain, the API's or with CreateFront=true the front's"

const ownLimits = "the created web ACL blocks an address above 3,000 requests in five minutes or 100 purchases in one; for other limits name a web ACL of yours by FrontWebAclArn"

func signInLines(prefix string) func(string, bool) string {
	return func(value string, _ bool) string {
		var lines []string
		parts := strings.SplitN(value, ",", 4)
		for i, name := range []string{"AuthorizeUrl", "TokenUrl", "ClientId", "Scopes"} {
			if i < len(parts) && parts[i] != "" {
				lines = append(lines, prefix+"SignIn"+name+"="+parts[i])
			}
		}
		return strings.Join(lines, "\n")
	}
}

func rateLine(name string) func(string, bool) string {
	return func(value string, _ bool) string {
		rate, _, _ := strings.Cut(value, "/")
		return name + "=" + rate
	}
}

func reserveLine(value string, _ bool) string {
	return fmt.Sprint("PurchaseReservedConcurrency=", listed(value)["Purchase"])
}

// domainLine is for a domain of the API or of the front: with a front, only its own is left.
func domainLine(name string, ofFront bool) func(string, bool) string {
	return func(value string, front bool) string {
		if front != ofFront {
			return ""
		}
		return name + "=" + value
	}
}

// listed reads a list such as Purchase:400,Query:0.
func listed(list string) map[string]int {
	by := map[string]int{}
	for one := range strings.SplitSeq(list, ",") {
		function, n, _ := strings.Cut(one, ":")
		by[function] = number(n)
	}
	return by
}

// instead says what takes the place of a parameter that is gone, and which lines that are.
func (r *report) instead(name, value string) (says string, lines []string) {
	row := gone[name]
	if row.lines != nil {
		if text := row.lines(value, r.text("CreateFront") == "true"); text != "" {
			lines = strings.Split(text, "\n")
		}
	}
	says = "leave it out: " + row.says
	if len(lines) > 0 {
		quoted := make([]string, len(lines))
		for i, line := range lines {
			to, is, _ := strings.Cut(line, "=")
			if strings.Contains(is, " ") {
				is = `"` + is + `"`
			}
			quoted[i] = to + "=" + is
		}
		if says = "write " + strings.Join(quoted, " "); row.says != "" {
			says += "; " + row.says
		}
	}
	return says, lines
}

// forgotten finds values that the stack has of parameters that are gone, and that this deployment does not take over.
func (r *report) forgotten(l Limits) {
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		was, deployed := l.Deployed[name]
		if !deployed || was == gone[name].was {
			continue
		}
		if slices.ContainsFunc(r.Template.Parameters, func(p cloudformation.Parameter) bool { return p.Name == name }) {
			continue // it is given, too, which has failed
		}
		says, lines := r.instead(name, was)
		taken := len(lines) > 0
		for _, line := range lines {
			to, value, _ := strings.Cut(line, "=")
			taken = taken && r.text(to) == value
		}
		if !taken {
			r.add(Warning, "parameters", "the stack has %s=%s, which is gone: %s", name, was, says)
		}
	}
}
