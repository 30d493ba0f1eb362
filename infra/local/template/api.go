package template

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	typeRawAPI         = "AWS::ApiGatewayV2::Api"
	typeRawStage       = "AWS::ApiGatewayV2::Stage"
	typeRawRoute       = "AWS::ApiGatewayV2::Route"
	typeRawAuthorizer  = "AWS::ApiGatewayV2::Authorizer"
	typeRawIntegration = "AWS::ApiGatewayV2::Integration"
)

// authorizationHeader is the only place of a token that runs locally.
const authorizationHeader = "$request.header.Authorization"

// single returns the only resource of a type, nil if there is none.
func (r *reader) single(typ string) *resource {
	all := r.ofType(typ)
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 {
		r.fail(all[1].key, all[1].id, "the local stack serves one %s", typ)
	}
	return all[0]
}

func (r *reader) api() API {
	res := r.single(typeAPI)
	if res == nil {
		return API{}
	}
	r.global.get("HttpApi").only(nil, []string{"AccessLogSettings", "FailOnWarnings", "PropagateTags", "Tags"})
	p := res.props
	p.only(
		[]string{"Auth", "CorsConfiguration", "DefaultRouteSettings", "RouteSettings"},
		[]string{
			"AccessLogSettings", "Description", "DisableExecuteApiEndpoint", "Domain", "FailOnWarnings", "Name",
			"PropagateTags", "StageName", "Tags",
		})
	a := API{LogicalID: res.id, Authorizers: map[string]Authorizer{}, CORS: cors(p.get("CorsConfiguration"))}
	auth := p.get("Auth")
	auth.only([]string{"DefaultAuthorizer", "Authorizers"}, nil)
	for _, f := range auth.get("Authorizers").fields() {
		f.only([]string{"IdentitySource", "JwtConfiguration"}, nil)
		f.must("IdentitySource", authorizationHeader)
		jwt := f.need("JwtConfiguration")
		jwt.only([]string{"issuer", "audience"}, nil)
		a.Authorizers[f.key] = Authorizer{Issuer: jwt.need("issuer").text(""), Audience: jwt.need("audience").texts()}
	}
	return a
}

func cors(v value) *CORS {
	if v.absent() {
		return nil
	}
	v.only([]string{"AllowHeaders", "AllowMethods", "AllowOrigins", "ExposeHeaders", "MaxAge"}, nil)
	return &CORS{
		AllowOrigins:  v.get("AllowOrigins").texts(),
		AllowMethods:  v.get("AllowMethods").texts(),
		AllowHeaders:  v.get("AllowHeaders").texts(),
		ExposeHeaders: v.get("ExposeHeaders").texts(),
		MaxAge:        time.Duration(v.get("MaxAge").number(0)) * time.Second,
	}
}

// throttle reads a route's settings. Its own replace the default ones as a whole.
func (r *reader) throttle(s *Stack, method, path string) Throttle {
	api := r.resources[s.API.LogicalID].props
	settings := api.get("RouteSettings").get(method + " " + path)
	if settings.absent() {
		settings = api.get("DefaultRouteSettings")
	}
	return readThrottle(settings)
}

func readThrottle(settings value) Throttle {
	t := Throttle{Burst: settings.get("ThrottlingBurstLimit").number(0)}
	if rate := settings.get("ThrottlingRateLimit"); !rate.absent() {
		limit, err := strconv.ParseFloat(rate.text(""), 64)
		if err != nil {
			rate.fail("must be a number of requests per second")
		}
		t.PerSecond = limit
	}
	return t
}

// rawAPI reads the HTTP API that is made of API Gateway's own resources, if there is one. SAM's
// defaults do not apply to it.
func (r *reader) rawAPI() API {
	res := r.single(typeRawAPI)
	if res == nil {
		return API{}
	}
	a := API{LogicalID: res.id, Authorizers: map[string]Authorizer{}}
	res.props.only([]string{"ProtocolType"}, []string{"Description", "DisableExecuteApiEndpoint", "Name", "Tags"})
	res.props.must("ProtocolType", "HTTP")
	var throttle Throttle
	for _, stage := range r.partsOf(a, typeRawStage) {
		p := stage.props
		p.only([]string{"ApiId", "StageName", "DefaultRouteSettings", "AutoDeploy"}, []string{"AccessLogSettings", "Description", "Tags"})
		p.must("StageName", "$default")
		throttle = readThrottle(p.get("DefaultRouteSettings"))
	}
	for _, res := range r.partsOf(a, typeRawAuthorizer) {
		p := res.props
		p.only([]string{"ApiId", "AuthorizerType", "IdentitySource", "JwtConfiguration"}, []string{"Name"})
		p.must("AuthorizerType", "JWT")
		jwt := p.need("JwtConfiguration")
		jwt.only([]string{"Issuer", "Audience"}, nil)
		a.Authorizers[res.id] = Authorizer{Issuer: jwt.need("Issuer").text(""), Audience: jwt.need("Audience").texts()}
		if sources := p.need("IdentitySource"); !slices.Equal(sources.texts(), []string{authorizationHeader}) {
			sources.fail("must be %s alone", authorizationHeader)
		}
	}
	functions := map[string]string{} // of the integrations
	for _, res := range r.partsOf(a, typeRawIntegration) {
		p := res.props
		p.only([]string{"ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion"}, []string{"TimeoutInMillis"})
		p.must("IntegrationType", "AWS_PROXY")
		p.must("PayloadFormatVersion", "2.0")
		functions["integrations/"+res.id] = r.functionOf(p.need("IntegrationUri"))
	}
	for _, res := range r.partsOf(a, typeRawRoute) {
		a.Routes = append(a.Routes, rawRoute(res.props, a, functions, throttle))
	}
	return a
}

// partsOf returns the resources of a type, which all belong to that API.
func (r *reader) partsOf(a API, typ string) []*resource {
	parts := r.ofType(typ)
	for _, res := range parts {
		res.props.must("ApiId", a.LogicalID)
	}
	return parts
}

// functionOf returns the logical id of the function that an alias's reference names.
func (r *reader) functionOf(v value) string {
	id := v.text("")
	if res := r.resources[id]; r.err == nil && (res == nil || res.typ != typeFunction) {
		v.fail("must name the alias of a function of the template")
	}
	return id
}

func rawRoute(p value, a API, functions map[string]string, throttle Throttle) Route {
	p.only([]string{"ApiId", "RouteKey", "Target", "AuthorizationType", "AuthorizerId", "AuthorizationScopes"}, []string{"OperationName"})
	method, path, _ := strings.Cut(p.need("RouteKey").text(""), " ")
	route := Route{Method: method, Path: path, Scopes: p.get("AuthorizationScopes").texts(), Throttle: throttle}
	target := p.need("Target")
	if route.Function = functions[target.text("")]; route.Function == "" {
		target.fail("must be integrations/ and an integration of the API")
	}
	switch kind := p.need("AuthorizationType"); kind.text("") {
	case "NONE":
	case "JWT":
		id := p.need("AuthorizerId")
		if _, ok := a.Authorizers[id.text("")]; !ok {
			id.fail("there is no authorizer %q", id.text(""))
		}
		route.Authorizer = id.text("")
	default:
		kind.fail("must be NONE or JWT")
	}
	return route
}
