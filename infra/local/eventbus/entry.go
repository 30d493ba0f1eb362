package eventbus

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// EventBridge's limits for PutEvents.
const (
	maxEntries    = 10
	maxTotalBytes = 1 << 20 // of all entries; they must be smaller
	maxDetailType = 128     // characters
	maxDepth      = 1000    // of a detail
	timeBytes     = 14      // what a time counts, however it is written
)

// entry is one of a request. Members that are not listed have no effect here.
type entry struct {
	Detail       *string
	DetailType   *string
	EventBusName *string
	Resources    []string
	Source       *string
	Time         *float64 // seconds since 1970
}

// size is the size of an entry as EventBridge computes it.
func (e *entry) size() int {
	n := len(text(e.Source)) + len(text(e.DetailType)) + len(text(e.Detail))
	if e.Time != nil {
		n += timeBytes
	}
	for _, r := range e.Resources {
		n += len(r)
	}
	return n
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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
	codeSource   = "NotAuthorizedForSourceException"
	codeThrottle = "ThrottlingException"
)

// refuse returns the error of an entry that is not acceptable, or nil.
func (e *entry) refuse() *result {
	for _, m := range []struct {
		name  string
		value *string
	}{{"Source", e.Source}, {"DetailType", e.DetailType}, {"Detail", e.Detail}} {
		if text(m.value) == "" {
			return &result{ErrorCode: codeArgument, ErrorMessage: "Parameter " + m.name + " is not valid. Reason: " + m.name + " is a required argument."}
		}
	}
	switch {
	case utf8.RuneCountInString(*e.DetailType) > maxDetailType:
		return &result{ErrorCode: codeArgument, ErrorMessage: "Parameter DetailType is not valid. Reason: it has more than 128 characters."}
	case e.Time != nil && (math.IsNaN(*e.Time) || *e.Time < 0 || *e.Time >= 1<<38):
		return &result{ErrorCode: codeArgument, ErrorMessage: "Parameter Time is not valid."}
	case strings.HasPrefix(*e.Source, "aws."):
		return &result{ErrorCode: codeSource, ErrorMessage: "Not authorized for the source."}
	case !isObject(*e.Detail):
		return &result{ErrorCode: codeDetail, ErrorMessage: "Detail is malformed."}
	}
	return nil
}

// isObject reports whether text is one JSON object that is not nested too deeply.
func isObject(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	depth := 0
	for first := true; ; first = false {
		token, err := d.Token()
		if err != nil {
			return err == io.EOF && !first && depth == 0
		}
		delimiter, _ := token.(json.Delim)
		if depth == 0 && (!first || delimiter != '{') {
			return false
		}
		switch delimiter {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxDepth {
			return false
		}
	}
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
	if e.Time != nil {
		at = time.Unix(int64(*e.Time), 0)
	}
	var detail bytes.Buffer
	_ = json.Compact(&detail, []byte(*e.Detail)) // it is JSON
	resources := e.Resources
	if resources == nil {
		resources = []string{}
	}
	return Event{"0", id, *e.DetailType, *e.Source, account, at.UTC().Truncate(time.Second), region, resources, detail.Bytes()}
}
