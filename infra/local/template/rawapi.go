package template

import (
	"slices"
	"strconv"
	"strings"
)

const (
	typeRawAPI         = "AWS::ApiGatewayV2::Api"
	typeRawStage       = "AWS::ApiGatewayV2::Stage"
	typeRawRoute       = "AWS::ApiGatewayV2::Route"
	typeRawAuthorizer  = "AWS::ApiGatewayV2::Authorizer"
	typeRawIntegration = "AWS::ApiGatewayV2::Integration"
)

// rawAPI reads the HTTP API that is made of API Gateway's own resources, if there is one. SAM's
// defaults do not apply to it.
func (r *reader) rawAPI() API {
	all := r.ofType(typeRawAPI)
	if len(all) == 0 {
		return API{}
	}
	if len(all) > 1 {
		r.fail(all[1].key, all[1].id, "the local stack serves one %s", typeRawAPI)
		return API{}
	}
	a := API{LogicalID: all[0].id, Authorizers: map[string]Authorizer{}}
	all[0].props.only([]string{"ProtocolType"}, []string{"Description", "DisableExecuteApiEndpoint", "Name", "Tags"})
	if protocol := all[0].props.need("ProtocolType"); protocol.text("") != "HTTP" {
		protocol.fail("must be HTTP")
	}
	var throttle Throttle
	for _, stage := range r.partsOf(a, typeRawStage) {
		p := stage.props
		p.only([]string{"ApiId", "StageName", "DefaultRouteSettings", "AutoDeploy"}, []string{"AccessLogSettings", "Description", "Tags"})
		if name := p.need("StageName"); name.text("") != "$default" {
			name.fail("must be $default")
		}
		throttle = readThrottle(p.get("DefaultRouteSettings"))
	}
	for _, res := range r.partsOf(a, typeRawAuthorizer) {
		p := res.props
		p.only([]string{"ApiId", "AuthorizerType", "IdentitySource", "JwtConfiguration"}, []string{"Name"})
		if kind := p.need("AuthorizerType"); kind.text("") != "JWT" {
			kind.fail("must be JWT")
		}
		jwt := p.need("JwtConfiguration")
		jwt.only([]string{"Issuer", "Audience"}, nil)
		a.Authorizers[res.id] = Authorizer{
			Issuer: jwt.need("Issuer").text(""), Audience: jwt.need("Audience").texts(),
		}
		if sources := p.need("IdentitySource"); !slices.Equal(sources.texts(), []string{authorizationHeader}) {
			sources.fail("must be %s alone", authorizationHeader)
		}
	}
	functions := map[string]string{} // of the integrations
	for _, res := range r.partsOf(a, typeRawIntegration) {
		p := res.props
		p.only([]string{"ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion"}, []string{"TimeoutInMillis"})
		if kind := p.need("IntegrationType"); kind.text("") != "AWS_PROXY" {
			kind.fail("must be AWS_PROXY")
		}
		if v := p.need("PayloadFormatVersion"); v.text("") != "2.0" {
			v.fail("only payload format 2.0 runs locally")
		}
		functions["integrations/"+res.id] = r.functionOf(p.need("IntegrationUri"))
	}
	for _, res := range r.partsOf(a, typeRawRoute) {
		a.Routes = append(a.Routes, r.rawRoute(res.props, a, functions, throttle))
	}
	return a
}

// partsOf returns the resources of a type, which all belong to that API.
func (r *reader) partsOf(a API, typ string) []*resource {
	parts := r.ofType(typ)
	for _, res := range parts {
		if id := res.props.need("ApiId"); id.text("") != a.LogicalID {
			id.fail("must name the template's %s", typeRawAPI)
		}
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

func (r *reader) rawRoute(p value, a API, functions map[string]string, throttle Throttle) Route {
	p.only([]string{"ApiId", "RouteKey", "Target", "AuthorizationType", "AuthorizerId", "AuthorizationScopes"}, []string{"OperationName"})
	key := p.need("RouteKey")
	method, path, _ := strings.Cut(key.text(""), " ")
	if !slices.Contains(methods, method) || !strings.HasPrefix(path, "/") {
		key.fail("must be a method and a path")
	}
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

func readThrottle(settings value) Throttle {
	t := Throttle{Burst: settings.get("ThrottlingBurstLimit").number(0, 0, 1<<30)}
	if rate := settings.get("ThrottlingRateLimit"); !rate.absent() {
		limit, err := strconv.ParseFloat(rate.text(""), 64)
		if err != nil || !(limit >= 0) {
			rate.fail("must be a number of requests per second")
		}
		t.PerSecond = limit
	}
	return t
}
