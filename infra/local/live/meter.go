package live

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/client"
)

const (
	// Answers to purchases are shown for this long, and at most so many.
	window     = time.Minute
	maxSamples = 4096
	// maxBody is how much of an answer is read to find out its code.
	maxBody = 4 << 10
)

type sample struct {
	at      time.Time
	took    time.Duration
	outcome string
}

// meter keeps the latest samples, and counts the answers of each second of the window.
type meter struct {
	mu      sync.Mutex
	samples []sample
	seconds [seconds]second // each at its time modulo their number
}

const seconds = int64(window / time.Second)

type second struct {
	at                      int64 // since the epoch
	accepted, refused, busy int
}

func (s *second) add(outcome string) {
	switch {
	case outcome == "accepted":
		s.accepted++
	case outcome == "busy", outcome == "internal", strings.HasPrefix(outcome, "status 5"):
		s.busy++
	default:
		s.refused++
	}
}

func (m *meter) add(s sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.samples = append(m.samples, s); len(m.samples) > 2*maxSamples {
		m.samples = slices.Clone(m.samples[maxSamples:])
	}
	at := s.at.Unix()
	of := &m.seconds[at%seconds]
	if of.at != at {
		*of = second{at: at}
	}
	of.add(s.outcome)
}

type purchases struct {
	Count   int            `json:"count"`
	Answers map[string]int `json:"answers"`
	P50Ms   float64        `json:"p50Ms"`
	P99Ms   float64        `json:"p99Ms"`
	// Those of each second, the oldest first.
	Accepted []int `json:"accepted"`
	Refused  []int `json:"refused"`
	Busy     []int `json:"busy"`
}

func (m *meter) since(t time.Time) purchases {
	p := purchases{Answers: map[string]int{}}
	var took []time.Duration
	m.mu.Lock()
	for _, s := range m.samples[max(0, len(m.samples)-maxSamples):] {
		if s.at.After(t) {
			p.Answers[s.outcome]++
			took = append(took, s.took)
		}
	}
	for at := t.Unix() + 1; at <= t.Unix()+seconds; at++ {
		of := m.seconds[at%seconds]
		if of.at != at {
			of = second{}
		}
		p.Accepted, p.Refused, p.Busy = append(p.Accepted, of.accepted), append(p.Refused, of.refused), append(p.Busy, of.busy)
	}
	m.mu.Unlock()
	slices.Sort(took)
	if p.Count = len(took); p.Count > 0 {
		at := func(percent int) float64 {
			return float64(took[max(0, (len(took)*percent+99)/100-1)].Microseconds()) / 1000
		}
		p.P50Ms, p.P99Ms = at(50), at(99)
	}
	return p
}

// Observe measures the purchases that next answers while somebody looks.
func (v *View) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if r.Method != http.MethodPost || !strings.HasPrefix(path, "/sales/") || !strings.HasSuffix(path, "/orders") || !v.watched() {
			next.ServeHTTP(w, r)
			return
		}
		began := time.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		now := time.Now()
		v.meter.add(sample{at: now, took: now.Sub(began), outcome: outcome(client.Read(rec.status, rec.Header(), rec.body))})
	})
}

// outcome is an answer in one word of the API's contract.
func outcome(a client.Answer) string {
	switch {
	case a.Status == http.StatusAccepted:
		return "accepted"
	case a.Code != "":
		return a.Code
	}
	return "status " + strconv.Itoa(a.Status)
}

// recorder keeps an answer's status and the beginning of its body.
type recorder struct {
	http.ResponseWriter
	status int
	body   []byte
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b[:min(len(b), maxBody-len(r.body))]...)
	return r.ResponseWriter.Write(b)
}
