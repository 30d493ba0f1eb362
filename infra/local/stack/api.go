package stack

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/gateway"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/live"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/template"
	"flashsale/shared/sale"
)

type keys func(kid string) (*rsa.PublicKey, error)

// gateway returns the template's API of the tokens of those keys as a handler.
func (s *Stack) gateway(api template.API, from keys, o gateway.Options) http.Handler {
	o.Log = s.o.Log
	authorizers := map[string]*gateway.JWT{}
	for name, a := range api.Authorizers {
		authorizers[name] = &gateway.JWT{Issuer: a.Issuer, Audience: a.Audience, Keys: from}
	}
	var routes []gateway.Route
	for _, r := range api.Routes {
		routes = append(routes, gateway.Route{Route: r, JWT: authorizers[r.Authorizer]})
	}
	return gateway.New(routes, s.functions, o)
}

// startOperators starts the operators' HTTP API, if the template creates it, and their sign-in.
func (s *Stack) startOperators(l net.Listener) error {
	if s.described.Operators.LogicalID == "" {
		s.Operate = ""
		return l.Close()
	}
	api := s.gateway(s.described.Operators, s.operators.Key, gateway.Options{APIID: "operators"})
	signIn := s.operators.Handler()
	s.serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_local/") {
			signIn.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), loopback.Rules{Links: linked})
	return nil
}

// linked reports whether anybody may link to an address: to a page, and of what exists only
// locally to the way to the payment page, which a storefront of another origin shows.
func linked(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/_local/") || strings.HasPrefix(r.URL.Path, shopPath)
}

// startAPI starts the HTTP API, plus the routes that exist only locally.
func (s *Stack) startAPI(l net.Listener) error {
	var o gateway.Options
	rules := loopback.Rules{Links: linked, Setting: "CorsAllowedOrigins"}
	if c := s.described.API.CORS; c != nil {
		cors := gateway.CORS(*c)
		o.CORS, rules.Origins = &cors, cors.Allows
	}
	from := s.issuer.Key
	if s.o.Issuer != "" {
		foreign, err := issuer.NewForeign(s.o.Issuer, time.Now)
		if err != nil {
			return err
		}
		from = foreign.Key
	}
	api := s.gateway(s.described.API, from, o)
	view, err := s.openView()
	if err != nil {
		return err
	}
	api = s.providers.Observe(view.Observe(api))
	local := http.NewServeMux()
	buyers, operators := s.issuer.Handler(), s.operators.Handler()
	local.Handle("/_local/", buyers)
	local.Handle("GET /_local/token", s.token(buyers, operators))
	local.HandleFunc("GET /_local/health", s.health)
	local.Handle("GET "+dicePath+"/", http.StripPrefix(dicePath, s.dice))
	local.HandleFunc("GET "+payPath, s.pay)
	local.HandleFunc("POST "+payPath, s.pay)
	local.HandleFunc("GET "+shopPath+"{port}", s.shop)
	local.Handle(live.Prefix, view.Handler())
	local.Handle("GET /{$}", view.Handler())
	s.serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A mux would clean and redirect paths, unlike API Gateway.
		if strings.HasPrefix(r.URL.Path, "/_local/") || r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			local.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), rules)
	return nil
}

// token gives anybody a token that the API takes; with another issuer for operators only.
func (s *Stack) token(buyers, operators http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("role"):
			operators.ServeHTTP(w, r)
		case s.o.Issuer != "":
			http.Error(w, "the tokens of buyers are those of "+s.o.Issuer, http.StatusNotFound)
		default:
			buyers.ServeHTTP(w, r)
		}
	})
}

// readPublic returns what the API answers everybody at a path, nil if that cannot be had.
func (s *Stack) readPublic(ctx context.Context, path string) []byte {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.API+path, nil)
	if err != nil {
		return nil
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		return nil
	}
	return text
}

// openView opens the live view, which ends with the stack.
func (s *Stack) openView() (*live.View, error) {
	o := live.Options{
		Client: client.New(s.API, client.Options{Lambda: s.Lambda, Connections: connectionsKept}),
		DB:     engine.Client(s.engine), Table: s.Table,
		Queues: s.queueClient(), OrderQueue: s.queueURL("OrderQueue"), DeadLetterQueue: s.queueURL("OrderDeadLetterQueue"),
		Events: s.bus, System: s,
	}
	view, err := live.New(o)
	if err == nil {
		s.keep(view.Run)
	}
	return view, err
}

// health answers with the addresses of the stack's parts, and its version.
func (s *Stack) health(w http.ResponseWriter, _ *http.Request) {
	parts := map[string]any{
		"status": "ok", "api": s.API, "lambda": s.Lambda, "dynamodb": s.DynamoDB, "sqs": s.SQS, "table": s.Table,
		"beacon": s.dice.Chain(), "version": sale.ProgramVersion, "providers": s.Providers,
	}
	if s.Operate != "" {
		parts["operate"] = s.Operate
	}
	if s.bus != nil {
		parts["eventbridge"], parts["events"] = s.EventBridge, s.EventLog
	}
	if len(s.described.Buses) > 0 {
		parts["eventBus"] = s.described.Buses[0]
	}
	if settings, met := s.Faults(); settings != "" {
		parts["faults"], parts["faultsMet"] = settings, met
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(parts)
}
