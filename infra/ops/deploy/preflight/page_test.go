package preflight

import (
	"testing"

	"flashsale/infra/ops/deploy/demand"
)

func TestHowBuyersSignInOnThePageIsChecked(t *testing.T) {
	pool := map[string]string{"CreateUserPool": "true", "PageOrigin": "https://shop.example", "SignInDomainPrefix": "shop"}
	other := map[string]string{"SignInAuthorizeUrl": "https://i.test/authorize", "PageOrigin": "https://shop.example"}
	for _, tt := range []struct {
		name          string
		base          map[string]string
		changed, with string
		want          Verdict
	}{
		{"the own pool", pool, "", "", OK},
		{"another issuer", other, "", "", OK},
		{"the API's domain", pool, "ApiDomainName", "shop.example", OK},
		{"another domain of the API", pool, "ApiDomainName", "api.example", Failed},
		{"a prefix that Cognito refuses", pool, "SignInDomainPrefix", "my-cognito-shop", Failed},
		{"no prefix", pool, "SignInDomainPrefix", "", Warning},
		{"no endpoint", other, "SignInAuthorizeUrl", "", Warning},
		{"no origin", other, "PageOrigin", "", Warning},
	} {
		d := sound()
		for name, value := range tt.base {
			if name == tt.changed {
				value = tt.with
			}
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: name, Value: value})
		}
		if tt.base[tt.changed] == "" {
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: tt.changed, Value: tt.with})
		}
		found := 0
		for _, f := range Run(t.Context(), d) {
			if f.Check == "buyer's page" {
				found++
				if f.Verdict != tt.want {
					t.Errorf("%s: %s %s, want %s", tt.name, f.Verdict, f.Says, tt.want)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: %d findings", tt.name, found)
		}
	}
}

// With a front, buyers see the page at the front's domain.
func TestThePagesOriginIsTheFrontsIfThereIsOne(t *testing.T) {
	for _, tt := range []struct {
		front, domain string
		want          Verdict
	}{{"true", "shop.example", OK}, {"true", "other.example", Failed}, {"own", "", OK}} {
		d := sound()
		for name, value := range map[string]string{
			"CreateUserPool": "true", "PageOrigin": "https://shop.example", "SignInDomainPrefix": "shop",
			"CreateFront": tt.front, "FrontDomainName": tt.domain, "ApiDomainName": "api.example",
		} {
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: name, Value: value})
		}
		for _, f := range Run(t.Context(), d) {
			if f.Check == "buyer's page" && f.Verdict != tt.want {
				t.Errorf("%s: %s %s, want %s", tt.domain, f.Verdict, f.Says, tt.want)
			}
		}
	}
}
