package template

import (
	"maps"
	"strings"
	"testing"
)

const projectTemplate = "../../../template.yaml"

func TestProjectTemplateRefusesParametersThatDoNotGoTogether(t *testing.T) {
	issuer := map[string]string{"JwtIssuer": "https://issuer.example", "JwtAudience": "shop"}
	for _, c := range []struct {
		name   string
		more   map[string]string
		region string
		want   string
	}{
		{"no issuer", map[string]string{"JwtIssuer": ""}, "", "JwtIssuer"},
		{"no audience", map[string]string{"JwtAudience": ""}, "", "JwtAudience"},
		{"operators without an issuer", map[string]string{"CreateOperatorApi": "true"}, "", "OperatorIssuer"},
		{"operators without an audience", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example"}, "", "OperatorAudience"},
		{"operators with the buyers' audience", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "shop"}, "", "must not be JwtAudience"},
		{"operators' sign-in domain without their pool", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "staff", "OperatorSignInDomainPrefix": "staff"}, "", "OperatorSignInDomainPrefix"},
		{"operators' sign-in without its client", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "staff", "OperatorSignInAuthorizeUrl": "https://staff.example/authorize"}, "", "OperatorSignInClientId"},
		{"a domain without a certificate", map[string]string{"DomainName": "shop.example"}, "", "CertificateArn"},
		{"a front without a secret", map[string]string{"CreateFront": "true"}, "", "OriginSecret"},
		{"a front whose web ACL cannot be made", map[string]string{"CreateFront": "true", "OriginSecret": strings.Repeat("s", 32)}, "eu-west-1", "FrontWebAclArn"},
		{"a front of their own without a secret", map[string]string{"CreateFront": "own"}, "", "OriginSecret"},
		{"no front and a secret that nobody sends", map[string]string{"OriginSecret": strings.Repeat("s", 32)}, "", "OriginSecret="},
		{"events of an existing table without its stream", map[string]string{"ExistingTable": "shop-restored", "PublishEvents": "true"}, "", "ExistingTableStreamArn"},
		{"a budget that tells nobody", map[string]string{"MonthlyBudget": "200"}, "", "AlarmEmail"},
		{"environments ahead of no time", map[string]string{"PurchaseProvisionedConcurrency": "10"}, "", "WarmFrom"},
		{"a secret that is none", map[string]string{"OriginSecret": "short"}, "", "32 to 128"},
		{"an origin with a wildcard", map[string]string{"CorsAllowedOrigins": "https://*"}, "", "CorsAllowedOrigins"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Region: c.region, Parameters: map[string]string{}}
			for _, set := range []map[string]string{issuer, c.more} {
				maps.Copy(o.Parameters, set)
			}
			_, err := Load(projectTemplate, o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a refusal that names %s", err, c.want)
			}
		})
	}
}
