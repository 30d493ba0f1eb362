package template

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"flashsale/infra/local/cloudformation"
)

// authorizationHeader is the only place of a token that runs locally.
const authorizationHeader = "$request.header.Authorization"

// single returns the only resource of a type; false if there is none.
func (r *reader) single(kind string) (cloudformation.Resource, bool) {
	all := r.t.OfType(kind)
	if len(all) == 0 {
		return cloudformation.Resource{}, false
	}
	if len(all) > 1 {
		r.fail(all[1].ID, "the local stack serves one %s", kind)
	}
	return all[0], true
}

// settings are those of a route, or of all routes without their own.
type settings struct {
	Throttle
	DetailedMetricsEnabled string // without a local counterpart
}

type httpAPI struct {
	Auth struct {
		DefaultAuthorizer string
		Authorizers       map[string]struct {
			IdentitySource   string
			JwtConfiguration Authorizer
		}
	}
	CorsConfiguration *struct {
		AllowHeaders, AllowMethods, AllowOrigins, ExposeHeaders []string
		MaxAge                                                  int `json:",string"`
	}
	DefaultRouteSettings settings
	RouteSettings        map[string]settings
}

func (r *reader) api() {
	res, found := r.single("AWS::Serverless::HttpApi")
	if !found {
		return
	}
	r.read(res, &r.http, "AccessLogSettings", "Description", "DisableExecuteApiEndpoint", "FailOnWarnings", "PropagateTags", "Tags")
	r.s.API = API{LogicalID: res.ID, Authorizers: map[string]Authorizer{}}
	for name, a := range r.http.Auth.Authorizers {
		r.must(res.ID+".Auth."+name, "IdentitySource", a.IdentitySource, authorizationHeader)
		r.s.API.Authorizers[name] = a.JwtConfiguration
	}
	if c := r.http.CorsConfiguration; c != nil {
		r.s.API.CORS = &CORS{c.AllowOrigins, c.AllowMethods, c.AllowHeaders, c.ExposeHeaders, time.Duration(c.MaxAge) * time.Second}
	}
}

// route adds the route of a function's event to the API.
func (r *reader) route(where, function string, properties json.RawMessage) {
	var p struct {
		ApiId, Method, Path string
		Auth                struct {
			Authorizer          string
			AuthorizationScopes []string
		}
	}
	r.decode(where, properties, &p)
	r.must(where, "ApiId", p.ApiId, r.s.API.LogicalID)
	route := Route{Function: function, Method: p.Method, Path: p.Path, Throttle: r.http.DefaultRouteSettings.Throttle}
	if own, ok := r.http.RouteSettings[p.Method+" "+p.Path]; ok { // they replace the default ones as a whole
		route.Throttle = own.Throttle
	}
	// SAM's rule: the event's authorizer, NONE for a public route, or else the API's default.
	if name := cmp.Or(p.Auth.Authorizer, r.http.Auth.DefaultAuthorizer, "NONE"); name != "NONE" {
		if _, ok := r.s.API.Authorizers[name]; !ok {
			r.fail(where, "there is no authorizer %q", name)
		}
		route.Authorizer, route.Scopes = name, p.Auth.AuthorizationScopes
	}
	r.s.API.Routes = append(r.s.API.Routes, route)
}

// operators reads the HTTP API that is made of API Gateway's own resources, if there is one. SAM's
// defaults do not apply to it.
func (r *reader) operators() {
	res, found := r.single("AWS::ApiGatewayV2::Api")
	if !found {
		return
	}
	a := API{LogicalID: res.ID, Authorizers: map[string]Authorizer{}}
	var p struct{ ProtocolType string }
	r.read(res, &p, "Description", "DisableExecuteApiEndpoint", "Name", "Tags")
	r.must(res.ID, "ProtocolType", p.ProtocolType, "HTTP")
	var throttle Throttle
	for _, res := range r.t.OfType("AWS::ApiGatewayV2::Stage") {
		var p struct {
			ApiId, StageName     string
			DefaultRouteSettings settings
		}
		r.read(res, &p, "AutoDeploy", "AccessLogSettings", "Description", "Tags")
		r.must(res.ID, "ApiId and StageName", p.ApiId+" "+p.StageName, a.LogicalID+" $default")
		throttle = p.DefaultRouteSettings.Throttle
	}
	for _, res := range r.t.OfType("AWS::ApiGatewayV2::Authorizer") {
		var p struct {
			ApiId, AuthorizerType string
			IdentitySource        []string
			JwtConfiguration      Authorizer
		}
		r.read(res, &p, "Name")
		r.must(res.ID, "ApiId and AuthorizerType", p.ApiId+" "+p.AuthorizerType, a.LogicalID+" JWT")
		r.must(res.ID, "IdentitySource", strings.Join(p.IdentitySource, " "), authorizationHeader)
		a.Authorizers[res.ID] = p.JwtConfiguration
	}
	functions := map[string]string{} // of the integrations
	for _, res := range r.t.OfType("AWS::ApiGatewayV2::Integration") {
		var p struct{ ApiId, IntegrationType, IntegrationUri, PayloadFormatVersion string }
		r.read(res, &p, "TimeoutInMillis")
		r.must(res.ID, "ApiId and IntegrationType", p.ApiId+" "+p.IntegrationType, a.LogicalID+" AWS_PROXY")
		r.must(res.ID, "PayloadFormatVersion", p.PayloadFormatVersion, "2.0")
		functions["integrations/"+res.ID] = p.IntegrationUri
	}
	for _, res := range r.t.OfType("AWS::ApiGatewayV2::Route") {
		var p struct {
			ApiId, RouteKey, Target, AuthorizationType, AuthorizerId string
			AuthorizationScopes                                      []string
		}
		r.read(res, &p, "OperationName")
		r.must(res.ID, "ApiId", p.ApiId, a.LogicalID)
		method, path, _ := strings.Cut(p.RouteKey, " ")
		route := Route{Method: method, Path: path, Function: functions[p.Target], Scopes: p.AuthorizationScopes, Throttle: throttle}
		if route.Function == "" {
			r.fail(res.ID, "%q is no integration of the API", p.Target)
		}
		if p.AuthorizationType != "NONE" {
			route.Authorizer = p.AuthorizerId
			if _, ok := a.Authorizers[p.AuthorizerId]; !ok || p.AuthorizationType != "JWT" {
				r.fail(res.ID, "it is neither public nor has an authorizer of the API")
			}
		}
		a.Routes = append(a.Routes, route)
	}
	r.s.Operators = a
}
