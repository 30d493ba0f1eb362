package checks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// personal are the variables of API Gateway that identify the caller or contain the
// caller's secrets: a log line has none of them (P18).
var personal = []string{"identity", "authorizer.claims", "requestOverride"}

var logVariable = regexp.MustCompile(`\$context\.([A-Za-z.]+)`)

func TestTheFrontDoorOfTheTemplate(t *testing.T) {
	const api = "Resources/Api/Properties/"
	checkTemplate(t, []templateRule{
		{
			row:   11,
			name:  "the API writes JSON access lines, without persons, to a log group of its own",
			check: accessLog,
			breaks: []edit{
				{api + "AccessLogSettings", ""},
				{api + "AccessLogSettings/DestinationArn", "!GetAtt PurchaseLogGroup.Arn"},
				{api + "AccessLogSettings/Format", "$context.requestId"},
				{api + "AccessLogSettings/Format", `'{"requestId":"$context.requestId","status":"$context.status","ip":"$context.identity.sourceIp"}'`},
				{api + "AccessLogSettings/Format", `'{"requestId":"$context.requestId"}'`},
				{"Resources/ApiLogGroup/Properties/RetentionInDays", ""},
			},
		},
		{
			row:   11,
			name:  "the default route and each route have a rate, a burst and metrics of their own",
			check: throttles,
			breaks: []edit{
				{api + "DefaultRouteSettings", ""},
				{api + "DefaultRouteSettings/DetailedMetricsEnabled", "false"},
				{api + "RouteSettings/POST ~1sales~1{saleId}~1orders", ""},
				{api + "RouteSettings/GET ~1orders~1{orderId}/ThrottlingBurstLimit", ""},
				{api + "RouteSettings/GET ~1orders~1{orderId}/DetailedMetricsEnabled", ""},
				{api + "RouteSettings/GET ~1baskets", "{ThrottlingRateLimit: 1, ThrottlingBurstLimit: 1, DetailedMetricsEnabled: true}"},
			},
		},
		{
			row:  11,
			name: "the API fails on warnings",
			check: func(tmpl template) (found []finding) {
				for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
					if a.at("Properties", "FailOnWarnings").text() != "true" {
						found = append(found, a.find("%s is deployed in spite of warnings", a.id))
					}
				}
				return found
			},
			breaks: []edit{{api + "FailOnWarnings", ""}},
		},
		{
			row:   11,
			name:  "only the origins of a parameter may call the API from a page, and * is none",
			check: origins,
			breaks: []edit{
				{api + "CorsConfiguration", "true"},
				{api + "CorsConfiguration/1/AllowOrigins", "['*']"},
				{api + "CorsConfiguration/1/AllowCredentials", "true"},
				{"Parameters/CorsAllowedOrigins/AllowedPattern", "'.*'"},
				{"Parameters/CorsAllowedOrigins/Default", "https://localhost"},
			},
		},
		{
			row:   11,
			name:  "issuer, audience and scopes are parameters",
			check: tokens,
			breaks: []edit{
				{api + "Auth/Authorizers/Jwt/JwtConfiguration/issuer", "https://issuer.example"},
				{api + "Auth/Authorizers/Jwt/JwtConfiguration/audience", "[shop]"},
				{"Resources/PurchaseFunction/Properties/Events/Purchase/Properties/Auth/AuthorizationScopes", ""},
				{"Resources/QueryFunction/Properties/Events/Claim/Properties/Auth/AuthorizationScopes", "[orders]"},
				{"Rules/TokensHaveAnIssuer", ""},
			},
		},
		{
			row:   11,
			name:  "the buyer's page asks the user pool for a scope that every route with a token admits, and for none that changes profiles",
			check: pageScopes,
			breaks: []edit{
				{"Resources/OperatorPoolClient/Properties/AllowedOAuthScopes/1/1", "aws.cognito.signin.user.admin"},
				{"Resources/OperateScope/Properties/Scopes/0/ScopeName", "buy"},
				{"Resources/OperateFunction/Properties/Environment/Variables/SIGNIN_SCOPE/1", "openid flashsale/buy"},
				{"Resources/OperatorTrailRoute/Properties/AuthorizationScopes/1/1", "flashsale/buy"},
				{"Resources/UserPoolClient/Properties/AllowedOAuthScopes/1/1", "aws.cognito.signin.user.admin"},
				{"Resources/UserPoolClient/Properties/AllowedOAuthScopes/1/0", "aws.cognito.signin.user.admin"},
				{"Resources/BuyScope/Properties/Identifier", "shop"},
				{"Resources/BuyScope/Properties/Scopes/0/ScopeName", "look"},
				{"Resources/PageFunction/Properties/Environment/Variables/SIGNIN_SCOPE/1", "openid aws.cognito.signin.user.admin"},
				{"Resources/PageFunction/Properties/Environment/Variables/SIGNIN_SCOPE/1", "openid"},
				{"Resources/PayFunction/Properties/Events/Cancel/Properties/Auth/AuthorizationScopes/1", ""},
				{"Resources/QueryFunction/Properties/Events/Order/Properties/Auth/AuthorizationScopes/1/1", "flashsale/look"},
			},
		},
		{
			row:    11,
			name:   "execute-api can be shut",
			check:  unless("AWS::Serverless::HttpApi", "none", "answers at execute-api", property("DisableExecuteApiEndpoint")),
			breaks: []edit{{"Resources/Api/Properties/DisableExecuteApiEndpoint", ""}},
		},
		{
			row:  16,
			name: "who may invoke a function is named with the source and its account, or the API says why not",
			check: func(tmpl template) (found []finding) {
				for _, p := range tmpl.resources("AWS::Lambda::Permission") {
					for _, name := range []string{"SourceArn", "SourceAccount", "Principal"} {
						if name == "SourceAccount" && tmpl.excused(p, "row 16") {
							continue
						}
						if v := p.at("Properties", name); v.Node == nil || v.text() == "*" {
							found = append(found, p.find("%s: %s is not one", p.id, name))
						}
					}
				}
				for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
					if !tmpl.excused(a, "row 16") {
						found = append(found, a.find("%s is let in by SAM, without a SourceAccount", a.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"excuse Api row 16", ""},
				{"excuse OperatorPermission row 16", ""},
				{"Resources/OperatorPermission/Properties/SourceArn", ""},
				{"Resources/OperatorPermission/Properties/Principal", "'*'"},
				{"Resources/Door", "{Type: 'AWS::Lambda::Permission', Properties: {Principal: '*', SourceArn: x, SourceAccount: x}}"},
				{"Resources/Door", "{Type: 'AWS::Lambda::Permission', Properties: {Principal: s3.amazonaws.com, SourceArn: x}}"},
			},
		},
	})
}

func accessLog(tmpl template) (found []finding) {
	for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
		settings := a.at("Properties", "AccessLogSettings")
		group, ok := tmpl.resource("AWS::Logs::LogGroup", settings.at("DestinationArn").target())
		if !ok || group.at("Properties", "RetentionInDays").Node == nil {
			found = append(found, a.find("%s has no access log that ends", a.id))
		}
		for _, f := range tmpl.functions() {
			if ok && f.property("LoggingConfig", "LogGroup").target() == group.id {
				found = append(found, a.find("%s logs where %s does", a.id, f.id))
			}
		}
		format := settings.at("Format")
		var line map[string]string
		if format.Node == nil || json.Unmarshal([]byte(format.Value), &line) != nil || strings.Contains(format.Value, "\n") {
			found = append(found, a.find("%s: the access log is not one line of JSON", a.id))
		}
		for _, name := range []string{"requestId", "routeKey", "status"} {
			if line[name] != "$context."+name {
				found = append(found, format.find("%s: the access log lacks %s", a.id, name))
			}
		}
		for _, m := range logVariable.FindAllStringSubmatch(format.text(), -1) {
			if slices.ContainsFunc(personal, func(p string) bool { return strings.HasPrefix(m[1], p) }) {
				found = append(found, format.find("%s logs %s", a.id, m[1]))
			}
		}
	}
	return found
}

func throttles(tmpl template) (found []finding) {
	for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
		routes := map[string]bool{}
		for _, f := range tmpl.functions() {
			for _, e := range f.events("HttpApi") {
				if e.at("Properties", "ApiId").target() == a.id {
					routes[e.at("Properties", "Method").text()+" "+e.at("Properties", "Path").text()] = true
				}
			}
		}
		settings := map[string]node{"the default route": a.at("Properties", "DefaultRouteSettings")}
		for route := range routes {
			settings[route] = a.at("Properties", "RouteSettings", route)
		}
		for route, s := range settings {
			rate, ok := tmpl.number(s.at("ThrottlingRateLimit"))
			burst, also := tmpl.number(s.at("ThrottlingBurstLimit"))
			if !ok || !also || rate < 1 || burst < 1 || s.at("DetailedMetricsEnabled").text() != "true" {
				found = append(found, a.find("%s lacks a rate, a burst or its metrics", route))
			}
		}
		for key := range a.at("Properties", "RouteSettings").pairs() {
			if !routes[key.Value] {
				found = append(found, key.find("%s is no route: API Gateway would refuse the stage", key.Value))
			}
		}
	}
	return found
}

func origins(tmpl template) (found []finding) {
	for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
		cors := a.at("Properties", "CorsConfiguration")
		if cors.Node == nil || cors.Tag != "!If" {
			found = append(found, a.find("%s: CorsConfiguration is not under a condition", a.id))
			continue
		}
		allowed := cors.at("1", "AllowOrigins").references()
		if len(allowed) != 1 || tmpl.at("Parameters", allowed[0]).Node == nil {
			found = append(found, cors.find("%s: the allowed origins are not those of a parameter", a.id))
			continue
		}
		p := tmpl.at("Parameters", allowed[0])
		pattern, err := regexp.Compile("^(?:" + p.at("AllowedPattern").text() + ")$")
		if err != nil || pattern.MatchString("*") || pattern.MatchString("https://*") || !pattern.MatchString("https://a.example,https://b.example") {
			found = append(found, p.find("%s takes what is no list of origins", allowed[0]))
		}
		if p.at("Default").Node == nil || p.at("Default").text() != "" {
			found = append(found, p.find("%s lets somebody in by default", allowed[0]))
		}
		if cors.at("1", "AllowCredentials").Node != nil {
			found = append(found, cors.find("%s: tokens travel in a header; no credentials are needed", a.id))
		}
	}
	return found
}

func pageScopes(tmpl template) (found []finding) {
	scopes := map[string]string{} // of each pool's client
	for _, page := range []struct{ client, server, scope, function string }{
		{"UserPoolClient", "BuyScope", "buy", "PageFunction"}, {"OperatorPoolClient", "OperateScope", "operate", "OperateFunction"},
	} {
		server, _ := tmpl.resource("AWS::Cognito::UserPoolResourceServer", page.server)
		ours := server.at("Properties", "Identifier").text() + "/" + server.at("Properties", "Scopes", "0", "ScopeName").text()
		scopes[page.client] = ours
		c, _ := tmpl.resource("AWS::Cognito::UserPoolClient", page.client)
		allowed := c.at("Properties", "AllowedOAuthScopes", "1").list()
		if len(allowed) != 2 || allowed[0].text() != "openid" || allowed[1].Value != "${"+page.server+"}/"+page.scope {
			found = append(found, c.find("%s gives the page's tokens other scopes than openid and %s", page.client, ours))
		}
		if asked := tmpl.at("Resources", page.function, "Properties", "Environment", "Variables", "SIGNIN_SCOPE", "1"); asked.text() != "openid "+ours {
			found = append(found, asked.find("the page asks for %q", asked.text()))
		}
	}
	for _, c := range tmpl.resources("AWS::Cognito::UserPoolClient") {
		if scopes[c.id] == "" {
			found = append(found, c.find("%s gives scopes that nobody has checked", c.id))
		}
	}
	for _, r := range tmpl.resources("AWS::ApiGatewayV2::Route") {
		auth := r.at("Properties", "AuthorizationType").text()
		if auth != "NONE" && r.at("Properties", "AuthorizationScopes", "1", "1").text() != scopes["OperatorPoolClient"] {
			found = append(found, r.find("%s does not admit the page's tokens", r.id))
		}
	}
	ours := scopes["UserPoolClient"]
	for _, f := range tmpl.functions() {
		for _, e := range f.events("HttpApi") {
			auth := e.at("Properties", "Auth")
			if auth.at("Authorizer").text() != "NONE" && auth.at("AuthorizationScopes", "1", "1").text() != ours {
				found = append(found, auth.find("%s does not admit the page's tokens", e.id))
			}
		}
	}
	return found
}

func tokens(tmpl template) (found []finding) {
	wants := func(n node, parameter string) {
		if !slices.Contains(n.references(), parameter) {
			found = append(found, n.find("%s has no effect here", parameter))
		}
	}
	for _, a := range tmpl.resources("AWS::Serverless::HttpApi") {
		jwt := a.at("Properties", "Auth", "Authorizers", "Jwt", "JwtConfiguration")
		wants(jwt.at("issuer"), "JwtIssuer")
		wants(jwt.at("audience"), "JwtAudience")
	}
	for _, f := range tmpl.functions() {
		for _, e := range f.events("HttpApi") {
			if auth := e.at("Properties", "Auth"); auth.at("Authorizer").text() != "NONE" {
				scope := strings.TrimSuffix(f.id, "Function") + "Scope"
				if f.id == "PayFunction" { // who may buy may cancel
					scope = "PurchaseScope"
				}
				wants(auth.at("AuthorizationScopes"), scope)
			}
		}
	}
	rule := tmpl.at("Rules", "TokensHaveAnIssuer", "Assertions")
	wants(rule, "JwtIssuer")
	wants(rule, "JwtAudience")
	return found
}
