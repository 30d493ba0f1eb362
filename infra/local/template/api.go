package template

import "time"

// authorizationHeader is the only place of a token that runs locally.
const authorizationHeader = "$request.header.Authorization"

func (r *reader) api() API {
	all := r.ofType(typeAPI)
	if len(all) == 0 {
		return API{}
	}
	if len(all) > 1 {
		r.fail(all[1].key, all[1].id, "the local stack serves one %s", typeAPI)
		return API{}
	}
	if global := r.global.get("HttpApi"); !global.absent() {
		global.only(nil, []string{"AccessLogSettings", "FailOnWarnings", "PropagateTags", "Tags"})
	}
	res := all[0]
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
		f.only([]string{"IdentitySource", "JwtConfiguration", "AuthorizationScopes"}, nil)
		jwt := f.need("JwtConfiguration")
		jwt.only([]string{"issuer", "audience"}, nil)
		a.Authorizers[f.key] = Authorizer{
			Issuer:   jwt.need("issuer").text(""),
			Audience: jwt.need("audience").texts(),
		}
		if source := f.get("IdentitySource"); source.text(authorizationHeader) != authorizationHeader {
			source.fail("must be %s", authorizationHeader)
		}
	}
	if standard := auth.get("DefaultAuthorizer"); !standard.absent() {
		if _, ok := a.Authorizers[standard.text("")]; !ok {
			standard.fail("there is no authorizer %q", standard.text(""))
		}
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
		MaxAge:        time.Duration(v.get("MaxAge").number(0, -1, 86400)) * time.Second,
	}
}

// throttle reads a route's settings. Its own replace the default ones as a whole.
func (r *reader) throttle(s *Stack, method, path string) Throttle {
	api := r.resources[s.API.LogicalID]
	if api == nil {
		return Throttle{}
	}
	settings := api.props.get("RouteSettings").get(method + " " + path)
	if settings.absent() {
		settings = api.props.get("DefaultRouteSettings")
	}
	return readThrottle(settings)
}
