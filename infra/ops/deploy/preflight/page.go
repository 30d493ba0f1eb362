package preflight

import (
	"net/url"
	"slices"
	"strings"
)

// reserved are words that Cognito refuses in a sign-in domain.
var reserved = []string{"aws", "amazon", "cognito"}

// page checks how buyers sign in on the buyer's page. That nobody can is a warning: a shop
// may have a page of its own.
func page(r *report, d Deployment) {
	const check = "buyer's page"
	origin, prefix, authorize := value(d.Demand, "PageOrigin"), value(d.Demand, "SignInDomainPrefix"), value(d.Demand, "SignInAuthorizeUrl")
	own := value(d.Demand, "CreateUserPool") == "true"
	if own && prefix == "" || !own && authorize == "" {
		r.add(Warning, check, "nobody can sign in on it: set PageOrigin and SignInDomainPrefix, or with another issuer SignInAuthorizeUrl")
		return
	}
	if own && slices.ContainsFunc(reserved, func(word string) bool { return strings.Contains(prefix, word) }) {
		r.add(Failed, check, "SignInDomainPrefix=%s: Cognito refuses the words %s", prefix, strings.Join(reserved, ", "))
		return
	}
	served := value(d.Demand, "ApiDomainName")
	switch value(d.Demand, "CreateFront") {
	case "true":
		served = value(d.Demand, "FrontDomainName")
	case "own":
		served = "" // its domain is unknown
	}
	u, err := url.Parse(origin)
	if err != nil || served != "" && u.Host != served {
		r.add(Failed, check, "PageOrigin=%s, but buyers see it at https://%s: the sign-in would come back to another origin", origin, served)
		return
	}
	if origin == "" {
		r.add(Warning, check, "PageOrigin is empty: the page takes whatever origin it is opened at for its own")
		return
	}
	r.add(OK, check, "at %s/s/SALE", origin)
}
