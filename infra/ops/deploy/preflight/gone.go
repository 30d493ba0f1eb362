package preflight

import (
	"maps"
	"slices"

	"flashsale/infra/local/cloudformation"
)

// gone are the parameters of earlier releases, by name: their defaults, and what takes their place.
var gone = map[string]struct{ was, says string }{
	"SignIn":                 {",,,openid", "write its parts as SignInAuthorizeUrl, SignInTokenUrl, SignInClientId and SignInScopes"},
	"OperatorSignIn":         {",,,openid", "write its parts as OperatorSignInAuthorizeUrl, OperatorSignInTokenUrl, OperatorSignInClientId and OperatorSignInScopes"},
	"PurchaseThrottle":       {"5000/2500", "write its rate as PurchaseRate; the burst is 5,000"},
	"QueryThrottle":          {"3600/5000", "write its rate as QueryRate; the burst is 5,000"},
	"PageThrottle":           {"1200/1200", "leave it out: each route of the page admits 1,200 requests a second; more need a front"},
	"PaymentThrottle":        {"200/400", "leave it out: the API admits 200 webhooks a second and 400 in a burst; providers repeat the others"},
	"ReservedConcurrency":    {"Purchase:400,Query:0,Page:0,Pay:0,Operate:10,Finalize:20,Reconcile:1,Release:1,Draw:1,Publish:0", "write that of Purchase as PurchaseReservedConcurrency; it decides whether the others have theirs: Operate 10, Finalize FinalizeMaximumConcurrency, Reconcile, Release and Draw 1, and Query, Page, Pay and Publish none"},
	"ApiDomainName":          {"", oneDomain},
	"ApiCertificateArn":      {"", oneDomain},
	"FrontDomainName":        {"", oneDomain},
	"FrontCertificateArn":    {"", oneDomain},
	"DrawSeconds":            {"900/3600/60", "leave it out: a roll is read after 900 s, the dice come 3,600 s later, and calls are 60 s apart"},
	"JwtScope":               {"", "leave it out: any token of JwtIssuer with the audience JwtAudience is a buyer's: let the issuer give that audience to no other tokens"},
	"WarmReadUnitsPerSecond": {"12000", "leave it out: the table keeps the warm throughput for reads that it has"},
	"WriteUnitsAlarm":        {"240000", "leave it out: TableSpendingAlarm opens a ticket at 240,000 write units in a minute"},
	"FrontRequestLimit":      {"3000", ownLimits},
	"FrontPurchaseLimit":     {"100", ownLimits},
	"EligibilityTimeoutMs":   {"300", "leave it out: PurchaseFunction waits 300 ms for EligibilityUrl"},
	"ReleaseGraceSeconds":    {"120", "leave it out: an unpaid order is released 120 s after its payBy"},
	"SeedScheduleTimezone":   {"UTC", "leave it out: SeedScheduleExpression is in UTC"},
	"LogLevel":               {"INFO", "leave it out: functions log at INFO"},
}

const (
	oneDomain = "write DomainName and CertificateArn, of the one domain: the API's, or with CreateFront=true the front's"
	ownLimits = "leave it out: the created web ACL blocks an address above 3,000 requests in five minutes or 100 purchases in one; for other limits name a web ACL of yours by FrontWebAclArn"
)

// forgotten finds values that the stack has of parameters that are gone, if they were not the defaults. A parameter that is
// given, too, has failed.
func (r *report) forgotten(l Limits) {
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		given := slices.ContainsFunc(r.Template.Parameters, func(p cloudformation.Parameter) bool { return p.Name == name })
		if was, deployed := l.Deployed[name]; deployed && was != gone[name].was && !given {
			r.add(Warning, "parameters", "the stack has %s=%s, which is gone: %s", name, was, gone[name].says)
		}
	}
}
