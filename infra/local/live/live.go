// Package live is the page at / of the local stack: it shows a sale, its stock, its orders
// and the queue while they change, and lets its reader send a crowd and break things.
//
// It reads the table and the queues directly, not through the faults that the functions
// meet, and only while somebody looks, once a second. What it does
// to the system, it does as buyers and operators do: over the API and SeedFunction.
package live

import (
	"context"
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/local/eventbus"
)

// Prefix is the path of everything but the page itself.
const Prefix = "/_local/live/"

//go:embed assets
var assets embed.FS

// System is the stack, which the view breaks and heals.
type System interface {
	// Inject replaces what goes wrong in the system; after the zero Injection nothing does.
	Inject(context.Context, Injection) error
	// Faults returns the faults in force and how many calls had which one so far.
	Faults() (settings string, met map[string]int)
}

type Options struct {
	Client                      *client.Client // of the stack's API and functions
	DB                          books.DynamoDB // the engine itself
	Table                       string
	Queues                      *sqs.Client
	OrderQueue, DeadLetterQueue string           // URLs
	Events                      *eventbus.Server // nil if nothing is published
	System                      System
}

// View is the page and its feed. Its methods are safe for concurrent use.
type View struct {
	o     Options
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup
	meter meter

	viewers  atomic.Int32
	mu       sync.Mutex
	sales    map[string]*watched
	crowd    *crowd // the last one; nil if there was none
	accident *accident
	brokenAt time.Time
	counting bool // a recount is being made
}

// New makes the view. Run must run while it is served.
func New(o Options) (*View, error) {
	u, err := url.Parse(o.Client.API)
	if err != nil || !client.Loopback(u.Hostname()) {
		return nil, fmt.Errorf("open live view: %q is not on this machine", o.Client.API)
	}
	v := &View{o: o, sales: map[string]*watched{}}
	v.ctx, v.stop = context.WithCancel(context.Background())
	return v, nil
}

// Run ends what the view does in the background when ctx is done. It always returns nil.
func (v *View) Run(ctx context.Context) error {
	<-ctx.Done()
	v.mu.Lock()
	v.stop() // under the lock, under which all of it begins
	v.mu.Unlock()
	v.work.Wait()
	return nil
}

// policy allows the page its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves GET / and what is below Prefix. The caller protects it: see package loopback.
func (v *View) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/live.html") })
	for _, name := range []string{"live.js", "live.css", "icon.svg"} {
		mux.HandleFunc("GET "+Prefix+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/"+name) })
	}
	mux.HandleFunc("GET "+Prefix+"feed", v.feed)
	for name, act := range v.actions() {
		mux.HandleFunc("POST "+Prefix+name, act.serve)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}
