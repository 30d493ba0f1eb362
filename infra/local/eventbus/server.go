// Package eventbus is Amazon EventBridge's PutEvents for one machine: it checks entries by
// EventBridge's limits and appends the events that it accepts to a file, one a line, in the
// form in which a rule's target gets them.
//
// It has no rules and no targets, and does not depend on what the events mean. As on AWS, an
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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	contentType = "application/x-amz-json-1.1"
	target      = "AWSEvents.PutEvents"
	// Every byte of an entry can take six bytes of JSON (\u0022).
	maxRequest = 8 * maxTotalBytes
	// kept is how many events Latest can return.
	kept = 20
)

// Options are the options of a server.
type Options struct {
	// Path is the file of events.
	Path string
	// Buses are the names of the event buses.
	Buses             []string
	AccountID, Region string
	// Log receives what a caller is not told; nil discards it.
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
	o     Options
	buses map[string]bool
	stuck atomic.Bool // the last call could not be recorded

	mu      sync.Mutex
	file    *os.File // whole lines up to size
	size    int64
	counts  map[string]int // of events, by detail type
	latest  []Event        // newest last, at most kept
	trouble Trouble
	calls   uint64 // since the trouble was set
	met     map[string]int
}

// Open opens or creates the file.
func Open(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, buses: map[string]bool{"default": true}, counts: map[string]int{}, met: map[string]int{}}
	for _, name := range o.Buses {
		s.buses[name] = true
	}
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open event bus: %w", err)
	}
	s.file = f
	if err := s.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("open event bus: read %s: %w", o.Path, err), f.Close())
	}
	return s, nil
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

// meet decides what goes wrong with the next call, "" if nothing.
func (s *Server) meet() (kind string, chance *randv2.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// ServeHTTP answers one request of the AWS JSON 1.1 protocol. Signatures are not checked.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-amzn-RequestId", rand.Text())
	if r.Method != http.MethodPost || r.Header.Get("X-Amz-Target") != target {
		refuse(w, http.StatusBadRequest, "UnknownOperationException", "only PutEvents is served here")
		return
	}
	var in struct{ Entries []entry }
	strict := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	strict.DisallowUnknownFields() // they would have no effect
	if err := strict.Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	}
	if problem := check(in.Entries); problem != "" {
		refuse(w, http.StatusBadRequest, "ValidationException", problem)
		return
	}
	kind, chance := s.meet()
	if kind == metFailed {
		refuse(w, http.StatusInternalServerError, "InternalFailure", "The request processing has failed because of an unknown error, exception or failure.")
		return
	}
	throttled := -1
	if kind == metThrottled {
		throttled = chance.IntN(len(in.Entries))
	}
	results, err := s.put(in.Entries, throttled)
	if known := s.stuck.Swap(err != nil); err != nil && !known {
		s.o.Log.Error("the event bus records nothing until its file can be written", "error", err)
	}
	if err != nil {
		refuse(w, http.StatusInternalServerError, "InternalException", err.Error())
		return
	}
	if kind == metLost {
		panic(http.ErrAbortHandler)
	}
	failed := len(slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.ErrorCode == "" }))
	w.Header().Set("Content-Type", contentType)
	_ = json.NewEncoder(w).Encode(struct {
		FailedEntryCount int
		Entries          []result
	}{failed, results})
}

// check returns why the whole call is refused.
func check(entries []entry) string {
	if n := len(entries); n < 1 || n > maxEntries {
		return "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length 1 to 10"
	}
	total := 0
	for _, e := range entries {
		total += len(e.Source) + len(e.DetailType) + len(e.Detail)
		if e.Time != 0 {
			total += timeBytes
		}
	}
	if total >= maxTotalBytes {
		return "Total size of the entries in the request is over the limit."
	}
	return ""
}

// put records the acceptable entries, all of them durably or none. From the entry with the
// index throttled on, unless it is negative, every second one is refused for now.
func (s *Server) put(entries []entry, throttled int) ([]result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	results := make([]result, len(entries))
	var accepted []Event
	for i := range entries {
		e := &entries[i]
		if refused := e.refuse(); refused != nil {
			results[i] = *refused
			continue
		}
		if throttled >= 0 && i >= throttled && (i-throttled)%2 == 0 {
			results[i] = result{ErrorCode: codeThrottle, ErrorMessage: "Rate exceeded"}
			continue
		}
		results[i].EventID = rand.Text()
		if !s.buses[s.busName(e)] {
			s.o.Log.Warn("an event goes nowhere: there is no such event bus", "bus", e.EventBusName, "type", e.DetailType)
			continue
		}
		accepted = append(accepted, e.event(results[i].EventID, s.o.AccountID, s.o.Region, now))
	}
	return results, s.record(accepted)
}

// busName is the name of an entry's bus, which may be given by its ARN.
func (s *Server) busName(e *entry) string {
	return cmp.Or(strings.TrimPrefix(e.EventBusName, "arn:aws:events:"+s.o.Region+":"+s.o.AccountID+":event-bus/"), "default")
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "message": message})
}

// EventBridge's limits for PutEvents.
const (
	maxEntries    = 10
	maxTotalBytes = 1 << 20 // of all entries; they must be smaller
	maxDetailType = 128
	timeBytes     = 14 // what a time counts, however it is written
)

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

// The error codes of entries.
const (
	codeArgument = "InvalidArgument"
	codeDetail   = "MalformedDetail"
	codeThrottle = "ThrottlingException"
)

// refuse returns the error of an entry that is not acceptable, or nil.
func (e *entry) refuse() *result {
	var object map[string]json.RawMessage
	switch {
	case e.Source == "" || e.DetailType == "" || e.Detail == "" || len(e.DetailType) > maxDetailType:
		return &result{ErrorCode: codeArgument, ErrorMessage: "Source, DetailType and Detail are required arguments, and DetailType has at most 128 bytes here."}
	case json.Unmarshal([]byte(e.Detail), &object) != nil || object == nil:
		return &result{ErrorCode: codeDetail, ErrorMessage: "Detail is malformed."}
	}
	return nil
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

// event is the event of an acceptable entry that arrived at the given time.
func (e *entry) event(id, account, region string, at time.Time) Event {
	if e.Time != 0 {
		at = time.Unix(int64(e.Time), 0)
	}
	var detail bytes.Buffer
	_ = json.Compact(&detail, []byte(e.Detail)) // it is JSON
	return Event{"0", id, e.DetailType, e.Source, account, at.UTC().Truncate(time.Second), region, []string{}, detail.Bytes()}
}

// read reads the file's whole lines. A last line without its end was interrupted and has not
// been answered, so it is cut off; a line before it that is no event is somebody else's and stays.
func (s *Server) read() error {
	lines := bufio.NewReader(s.file)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return s.file.Truncate(s.size)
		}
		if err != nil {
			return err
		}
		s.size += int64(len(line))
		var e Event
		if json.Unmarshal(line, &e) == nil && e.DetailType != "" {
			s.note(e)
		}
	}
}

// record appends events durably, all or none, and notes them. What a failed or interrupted write
// left is cut off before. The caller holds the lock.
func (s *Server) record(events []Event) error {
	if len(events) == 0 {
		return nil
	}
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
	for _, e := range events {
		s.note(e)
	}
	return nil
}
