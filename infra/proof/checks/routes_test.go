package checks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// publicRoutes are the only routes without a token.
var publicRoutes = []string{"GET /sales/{saleId}", "GET /sales/{saleId}/roll/{page}", "GET /groups/{groupId}", "GET /s/{saleId}", "GET /g/{groupId}", "GET /assets/{name}", "GET /signin", "POST /payments/{provider}"}

// route is one event of an API.
type route struct {
	name string // such as "GET /sales/{saleId}"
	function
	node // its properties
}

func (t template) routes() (all []route) {
	for _, f := range t.functions() {
		for _, e := range f.events("HttpApi") {
			all = append(all, route{e.at("Method").text() + " " + e.at("Path").text(), f, e.node})
		}
	}
	return all
}

func TestEveryRouteButThePublicOnesNeedsAToken(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	var public []string
	for _, r := range tmpl.routes() {
		api, ok := tmpl.resource("AWS::Serverless::HttpApi", r.node.at("ApiId").target())
		auth := api.at("Properties.Auth")
		jwt := auth.at("Authorizers", auth.at("DefaultAuthorizer").text(), "JwtConfiguration")
		if !ok || !slices.Contains(jwt.at("issuer").references(), "JwtIssuer") || !slices.Contains(jwt.at("audience").references(), "JwtAudience") {
			r.node.errorf(t, "%s is on no API whose default authorizer has the issuer and the audience of the parameters", r.name)
		}
		switch authorizer := r.node.at("Auth.Authorizer").text(); authorizer {
		case "NONE":
			public = append(public, r.name)
			continue
		case "", auth.at("DefaultAuthorizer").text():
		default:
			r.node.errorf(t, "%s: Authorizer is %q, want the default", r.name, authorizer)
		}
		r.node.expect(t, "Auth.AuthorizationScopes.1.1", "flashsale/buy")
	}
	for _, r := range tmpl.resources("AWS::ApiGatewayV2::Route") { // of the operators' API
		if p := r.at("Properties"); p.at("AuthorizationType").text() != "NONE" {
			p.expect(t, "AuthorizationScopes.1.1", "flashsale/operate")
		}
	}
	slices.Sort(public)
	if want := slices.Sorted(slices.Values(publicRoutes)); !slices.Equal(public, want) {
		t.Errorf("without a token are %q, want %q", public, want)
	}
}

func TestEachRouteHasAThrottleOfItsOwn(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	api := tmpl.at("Resources.Api.Properties")
	limits := map[string]node{"the default route": api.at("DefaultRouteSettings")}
	for _, r := range tmpl.routes() {
		limits[r.name] = api.child("RouteSettings").child(r.name)
	}
	for name, s := range limits {
		rate, _ := tmpl.number(s.at("ThrottlingRateLimit"))
		burst, _ := tmpl.number(s.at("ThrottlingBurstLimit"))
		if rate < 1 || burst < 1 || s.at("DetailedMetricsEnabled").text() != "true" {
			api.errorf(t, "%s lacks a rate, a burst or its metrics", name)
		}
	}
	for key := range api.at("RouteSettings").pairs() {
		if limits[key.Value].Node == nil {
			key.errorf(t, "%s is no route: API Gateway would refuse the stage", key.Value)
		}
	}
}

// personal are the variables of API Gateway that identify the caller or contain the
// caller's secrets: a log line has none of them (P18).
var personal = []string{"identity", "authorizer.claims", "requestOverride"}

var logVariable = regexp.MustCompile(`\$context\.([A-Za-z.]+)`)

func TestTheAccessLogIsJSONWithoutPersons(t *testing.T) {
	settings := parseTemplate(t, templateFile).at("Resources.Api.Properties.AccessLogSettings")
	settings.expect(t, "DestinationArn", "!GetAtt ApiLogGroup.Arn")
	format := strings.TrimPrefix(settings.at("Format").spelt(), "!Sub ")
	var line map[string]string
	if err := json.Unmarshal([]byte(format), &line); err != nil || strings.Contains(format, "\n") {
		settings.errorf(t, "the access log is not one line of JSON: %v", err)
	}
	for _, name := range []string{"requestId", "routeKey", "status", "integrationStatus"} {
		if _, ok := line[name]; !ok {
			settings.errorf(t, "the access log lacks %s", name)
		}
	}
	for _, m := range logVariable.FindAllStringSubmatch(format, -1) {
		if slices.ContainsFunc(personal, func(p string) bool { return strings.HasPrefix(m[1], p) }) {
			settings.errorf(t, "the access log has %s", m[1])
		}
	}
	// The filters count lines by members that the lines must have.
	for _, f := range parseTemplate(t, alarmsFile).resources("AWS::Logs::MetricFilter") {
		fields := regexp.MustCompile(`\$\.(\w+)`).FindAllStringSubmatch(f.at("Properties.FilterPattern").text(), -1)
		for _, field := range fields {
			if _, ok := line[field[1]]; !ok {
				f.errorf(t, "%s: no line has %s", f.id, field[1])
			}
		}
		if len(fields) == 0 {
			f.errorf(t, "%s counts every line", f.id)
		}
	}
}

func TestOnlyTheOriginsOfAParameterMayCallTheAPIFromAPage(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	cors := tmpl.at("Resources.Api.Properties.CorsConfiguration")
	if got := cors.at("1.AllowOrigins").references(); !slices.Equal(got, []string{"CorsAllowedOrigins"}) || cors.Tag != "!If" || cors.at("1.AllowCredentials").Node != nil {
		cors.errorf(t, "the allowed origins are %q, or pages send cookies", got)
	}
	p := tmpl.at("Parameters.CorsAllowedOrigins")
	p.expect(t, "Default", "")
	pattern, err := regexp.Compile("^(?:" + p.at("AllowedPattern").text() + ")$")
	for origins, want := range map[string]bool{
		"*": false, "https://*": false, "https://a.example,https://b.example": true, "http://127.0.0.1:8080": true, "http://[::1]:8080": true,
		// No browser sends these as an Origin.
		"https://a.example/": false, "https://A.example": false, "https://a.example, https://b.example": false, "a.example": false,
	} {
		if err != nil || pattern.MatchString(origins) != want {
			p.errorf(t, "CorsAllowedOrigins takes %s: %t, want %t (%v)", origins, !want, want, err)
		}
	}
}

// API Gateway's SourceArn has the account in it; any other service is named with SourceAccount, too.
func TestWhoMayInvokeAFunctionIsOneServiceForOneSource(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	for _, f := range tmpl.functions() {
		if url := f.at("Properties.FunctionUrlConfig"); url.Node != nil {
			url.errorf(t, "%s has a door beside the API", f.id)
		}
		buyers := slices.Contains([]string{"PageFunction", "PayFunction", "PurchaseFunction", "QueryFunction"}, f.id)
		if routes := len(f.events("HttpApi")); routes > 0 != buyers {
			f.errorf(t, "%s stands behind %d routes of the buyers' API", f.id, routes)
		}
	}
	if urls := tmpl.resources("AWS::Lambda::Url"); len(urls) > 0 {
		urls[0].errorf(t, "a function has a door beside the API")
	}
	for _, p := range tmpl.resources("AWS::Lambda::Permission") {
		principal := p.at("Properties.Principal").text()
		if arn := p.at("Properties.SourceArn"); arn.Node == nil || arn.text() == "*" || !strings.HasSuffix(principal, ".amazonaws.com") {
			p.errorf(t, "%s lets in %q", p.id, principal)
		}
		if account := p.at("Properties.SourceAccount"); principal != "apigateway.amazonaws.com" && (account.Node == nil || account.text() == "*") {
			p.errorf(t, "%s lets in %s of any account", p.id, principal)
		}
	}
}
