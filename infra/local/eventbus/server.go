// Package eventbus is Amazon EventBridge's PutEvents for one machine: it checks entries by
// EventBridge's limits and appends the events that it accepts to a file, one a line, in the
// form in which a rule's target gets them.
//
// It has no rules, at most one target, and does not depend on what the events mean. As on AWS, an
// entry for a bus that does not exist is answered as accepted, and its event goes nowhere.
package eventbus

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	randv2 "math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"flashsale/infra/local/template"
)

const (
	contentType = "application/x-amz-json-1.1"
	// EventBridge's limits: entries of a call, and the bytes of all of them.
	maxEntries    = 10
	maxTotalBytes = 1 << 20
	// kept is how many events Latest can return.
	kept = 20
)

type Options struct {
	Path  string
	Buses []string
	// Target, if there is one, is given each recorded event, as the only rule's.
	Target func(event []byte)
	// Log receives what a caller is not told.
	Log *slog.Logger
}

// Trouble is what a server does wrong.
type Trouble struct {
	// Down: every call is answered with 500, and nothing is recorded.
	Down bool
	// Share of the calls, 0 to 1, that fail: a third of them is answered with 500, of a
	// third some entries are throttled, and a third is recorded and has no answer.
	Share float64
	// Seed makes the n-th call meet the same.
	Seed uint64
}

// The kinds of trouble, as named by Met.
const (
	metFailed    = "publish-failed"
	metThrottled = "publish-throttled"
	metLost      = "publish-lost"
)

// Server is an http.Handler. It is safe for concurrent use. It does not check hosts.
type Server struct {
	o Options

	mu      sync.Mutex
	file    *os.File // whole lines up to size
	size    int64
	counts  map[string]int // of events, by detail type
	latest  []Event        // newest last, at most kept
	trouble Trouble
	calls   uint64 // since the trouble was set
	met     map[string]int
}

// Open opens or creates the file. A last line without its end was interrupted and has not been answered, so
// it is overwritten; a line before it that is no event is somebody else's and stays.
func Open(o Options) (*Server, error) {
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open event bus: %w", err)
	}
	s := &Server{o: o, file: f, counts: map[string]int{}, met: map[string]int{}}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open event bus: read %s: %w", o.Path, err), f.Close())
		}
		s.size += int64(len(line))
		var e Event
		if json.Unmarshal(line, &e) == nil && e.DetailType != "" {
			s.note(e)
		}
	}
}

// Close closes the file. Later calls fail.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}

// note remembers a recorded event. The caller holds the lock.
func (s *Server) note(e Event) {
	s.counts[e.DetailType]++
	if s.latest = append(s.latest, e); len(s.latest) > kept {
		s.latest = slices.Delete(s.latest, 0, 1)
	}
}

// Latest returns the latest events, the newest first, and how many there are of each type.
func (s *Server) Latest() ([]Event, map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := slices.Clone(s.latest)
	slices.Reverse(latest)
	return latest, maps.Clone(s.counts)
}

// SetTrouble replaces the trouble in force; the zero Trouble ends it.
func (s *Server) SetTrouble(t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble, s.calls, s.met = t, 0, map[string]int{}
}

// Met returns how many calls met which trouble since it was set: "publish-failed",
// "publish-throttled" and "publish-lost".
func (s *Server) Met() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.met)
}

// meet decides what goes wrong with the next call, "" if nothing. The caller holds the lock.
func (s *Server) meet() (kind string, chance *randv2.Rand) {
	s.calls++
	chance = randv2.New(randv2.NewPCG(s.trouble.Seed, s.calls))
	switch {
	case s.trouble.Down:
		kind = metFailed
	case chance.Float64() < s.trouble.Share:
		kind = []string{metFailed, metThrottled, metLost}[chance.IntN(3)]
	default:
		return "", chance
	}
	s.met[kind]++
	return kind, chance
}

// entry is one of a request, with the members that the product sends.
type entry struct {
	Detail, DetailType, EventBusName, Source string
	Time                                     float64 // seconds since 1970; 0 for none
}

// result is an entry's in the answer: an id, or an error.
type result struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

// Event is an accepted event, in the form in which targets get it.
type Event struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       time.Time       `json:"time"`
	Region     string          `json:"region"`
	Resources  []string        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// ServeHTTP answers one request of the AWS JSON 1.1 protocol. Signatures are not checked.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Entries []entry }
	total := 0
	strict := json.NewDecoder(http.MaxBytesReader(w, r.Body, 8*maxTotalBytes)) // a byte can take six of JSON
	strict.DisallowUnknownFields()                                             // they would have no effect
	err := strict.Decode(&in)
	for _, e := range in.Entries {
		total += len(e.Source) + len(e.DetailType) + len(e.Detail)
	}
	switch {
	case r.Header.Get("X-Amz-Target") != "AWSEvents.PutEvents":
		refuse(w, http.StatusBadRequest, "UnknownOperationException", "only PutEvents is served here")
		return
	case err != nil:
		refuse(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	case len(in.Entries) == 0 || len(in.Entries) > maxEntries || total >= maxTotalBytes:
		refuse(w, http.StatusBadRequest, "ValidationException", "a call has 1 to 10 entries, of less than 1 MB")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind, chance := s.meet()
	if kind == metFailed {
		refuse(w, http.StatusInternalServerError, "InternalFailure", "The request processing has failed because of an unknown error, exception or failure.")
		return
	}
	throttled := -1
	if kind == metThrottled {
		throttled = chance.IntN(len(in.Entries))
	}
	results, failed, err := s.put(in.Entries, throttled)
	if err != nil {
		s.o.Log.Error("events were not recorded", "error", err)
		refuse(w, http.StatusInternalServerError, "InternalException", err.Error())
		return
	}
	if kind == metLost {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", contentType)
	_ = json.NewEncoder(w).Encode(struct {
		FailedEntryCount int
		Entries          []result
	}{failed, results})
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": message})
}

// put records the acceptable entries, all of them durably or none. From the entry with the
// index throttled on, unless it is negative, every second one is refused for now. The caller holds the lock.
func (s *Server) put(entries []entry, throttled int) (results []result, failed int, err error) {
	var accepted []Event
	for i, e := range entries {
		var detail bytes.Buffer
		one := result{EventID: rand.Text()}
		switch {
		case e.Source == "" || e.DetailType == "" || len(e.DetailType) > 128:
			one = result{ErrorCode: "InvalidArgument", ErrorMessage: "Source and DetailType are required, and DetailType has at most 128 bytes."}
		case json.Compact(&detail, []byte(e.Detail)) != nil || detail.Bytes()[0] != '{':
			one = result{ErrorCode: "MalformedDetail", ErrorMessage: "Detail is malformed."}
		case throttled >= 0 && i >= throttled && (i-throttled)%2 == 0:
			one = result{ErrorCode: "ThrottlingException", ErrorMessage: "Rate exceeded"}
		case !slices.Contains(append(s.o.Buses, "default"), path.Base(cmp.Or(e.EventBusName, "default"))): // it may be an ARN
			s.o.Log.Warn("an event goes nowhere: there is no such event bus", "bus", e.EventBusName, "type", e.DetailType)
		default:
			at := time.Now()
			if e.Time != 0 {
				at = time.Unix(int64(e.Time), 0)
			}
			accepted = append(accepted, Event{
				"0", one.EventID, e.DetailType, e.Source, template.AccountID, at.UTC().Truncate(time.Second), template.Region, []string{}, detail.Bytes(),
			})
		}
		if results = append(results, one); one.ErrorCode != "" {
			failed++
		}
	}
	return results, failed, s.record(accepted)
}

// record appends events durably, all or none, and notes them. What a failed or interrupted write
// left is cut off before.
func (s *Server) record(events []Event) error {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	err := s.file.Truncate(s.size)
	if err == nil {
		_, err = s.file.WriteAt(lines.Bytes(), s.size)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	s.size += int64(lines.Len())
	if s.o.Target != nil {
		for line := range bytes.Lines(lines.Bytes()) {
			s.o.Target(bytes.TrimSpace(line))
		}
	}
	for _, e := range events {
		s.note(e)
	}
	return nil
}
