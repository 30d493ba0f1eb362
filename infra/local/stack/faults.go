package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"flashsale/infra/local/faults"
	"flashsale/infra/local/live"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/template"
)

// connectionsKept is how many idle connections a proxy keeps to an engine: as many as
// there may be processes; with fewer the proxy would be the bottleneck.
const connectionsKept = 256

// faultProxies is a transport with the faults in force, and proxies to DynamoDB and SQS
// that use it.
type faultProxies struct {
	faults.Transport
	proxies [2]http.Handler
}

// openTransport makes the connections of the proxies to the engines.
func (s *Stack) openTransport() {
	s.base = http.DefaultTransport.(*http.Transport).Clone()
	s.base.Proxy, s.base.MaxIdleConns, s.base.MaxIdleConnsPerHost = nil, 0, connectionsKept
	s.onStop(func() error { s.base.CloseIdleConnections(); return nil })
}

// startFaults starts proxies to the engines. Only functions get faults, and only while
// there are any do they call the proxies: the poller acts as Lambda, which fails in other
// ways, and tools that inspect the table must see its real contents.
func (s *Stack) startFaults() error {
	for i, endpoint := range []string{s.engine, s.SQS} {
		target, err := url.Parse(endpoint)
		if err != nil {
			return fmt.Errorf("read endpoint: %w", err)
		}
		s.engines[i] = target
	}
	s.setFaults(s.given, false)
	s.onStop(func() error {
		// Late calls arrive before the engines end.
		return s.injected.Load().Close()
	})
	for i := range s.engines {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		s.serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.injected.Load().proxies[i].ServeHTTP(w, r)
		}), loopback.Rules{})
		s.proxied[i] = address(l)
	}
	return nil
}

// setFaults replaces the faults in force, and the event bus may be down besides. Late calls of the
// former ones are sent first.
func (s *Stack) setFaults(c faults.Config, busDown bool) {
	s.setBusOutage(busDown, c)
	next := &faultProxies{Transport: faults.Transport{Base: s.base, Config: c}}
	for i, target := range s.engines {
		next.proxies[i] = faults.Proxy(target, &next.Transport)
	}
	if former := s.injected.Swap(next); former != nil {
		_ = former.Close()
	}
}

// environment is a function's, with the addresses of the engines or of the proxies to them, and with
// that many places in a process.
func (s *Stack) environment(f template.Function, faulty bool, places int) map[string]string {
	env := maps.Clone(f.Environment)
	env["AWS_LAMBDA_MAX_CONCURRENCY"] = strconv.Itoa(places)
	env["AWS_ENDPOINT_URL_DYNAMODB"], env["AWS_ENDPOINT_URL_SQS"] = s.engine, s.SQS
	env["AWS_ENDPOINT_URL_LAMBDA"], env["AWS_ENDPOINT_URL_CLOUDWATCH"] = s.Lambda, s.cloudWatch
	if s.bus != nil {
		env["AWS_ENDPOINT_URL_EVENTBRIDGE"] = s.EventBridge
	}
	if faulty {
		env["AWS_ENDPOINT_URL_DYNAMODB"], env["AWS_ENDPOINT_URL_SQS"] = s.proxied[0], s.proxied[1]
	}
	if _, refunds := env["REFUND_KEYS_ARN"]; refunds { // no other function may read the secret
		env["AWS_ENDPOINT_URL_SECRETS_MANAGER"], env["REFUND_PROVIDERS_URL"], env["API_URL"] = s.secretsManager, s.Providers, s.API
	}
	s.throw(env)
	// One machine has one clock, and no payment is on its way for long. On AWS an environment never waits
	// for its own check of another user.
	for _, with := range []map[string]string{
		{"RELEASE_GRACE_SECONDS": "0", "ELIGIBILITY_CONCURRENCY": strconv.Itoa(places)}, s.o.Variables,
	} {
		for name, value := range with {
			if _, has := env[name]; has {
				env[name] = value
			}
		}
	}
	for name, value := range localRuntime {
		if _, set := env[name]; !set {
			env[name] = value
		}
	}
	return env
}

// Inject replaces the faults of the running system. After the zero Injection it has those
// that it was started with.
func (s *Stack) Inject(_ context.Context, d live.Injection) error {
	s.breaking.Lock()
	defer s.breaking.Unlock()
	c, err := faults.Parse(cmp.Or(d.Faults, s.o.Faults))
	if err != nil {
		return err
	}
	if d.BusDown && s.bus == nil {
		return errors.New("stop the event bus: no function publishes events, see the parameter PublishEvents")
	}
	if d.Crash && s.crash == nil {
		return errors.New("crash the database: the stack did not start it")
	}
	s.killShare.Store(math.Float64bits(cmp.Or(d.Kill, s.o.KillAtResponse)))
	s.setFaults(c, d.BusDown)
	for _, f := range s.described.Functions {
		faulty := s.o.Faults != "" || d.Faults != "" && (len(d.Functions) == 0 || slices.Contains(d.Functions, f.LogicalID))
		room := s.places(f)
		if d.Kill > 0 { // a share of the answers is lost, and not all that run beside them
			room = 1
		}
		if env := s.environment(f, faulty, room); !maps.Equal(env, s.environments[f.LogicalID]) {
			s.functions.SetEnvironment(f.LogicalID, env)
			s.environments[f.LogicalID] = env
		}
	}
	if d.Crash {
		select {
		case s.crash <- struct{}{}:
		default: // it is about to crash
		}
	}
	return nil
}

// killAtResponse decides for each answer whether its process is killed.
func (s *Stack) killAtResponse(function, requestID string) bool {
	if share := math.Float64frombits(s.killShare.Load()); share == 0 || rand.Float64() >= share {
		return false
	}
	s.o.Log.Info("killed at its response", "function", function, "request", requestID)
	return true
}

// Faults returns the faults in force ("" if none) and how many calls met which fault so
// far; see faults.Transport's Counts and eventbus.Server's Met.
func (s *Stack) Faults() (settings string, met map[string]int) {
	in := s.injected.Load()
	if in == nil {
		return "", nil
	}
	met = map[string]int{}
	if in.Config != (faults.Config{}) {
		settings, met = in.Config.String(), in.Counts()
	}
	if s.bus != nil {
		maps.Copy(met, s.bus.Met())
	}
	return settings, met
}
