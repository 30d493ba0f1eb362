package sqs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Attributes are a queue's settable attributes. Package template has checked their ranges.
type attributes map[string]string

// standard are the settable attributes, with their values where nothing is set.
var standard = attributes{"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600", "RedrivePolicy": ""}

// Settings are the attributes that a queue acts on.
type settings struct {
	visibility time.Duration
	redrive    *redrivePolicy // nil for none
}

// A redrivePolicy sends a message that was received MaxReceiveCount times
// without being deleted to the queue of that ARN.
type redrivePolicy struct {
	Target          string `json:"deadLetterTargetArn"`
	MaxReceiveCount int    `json:"maxReceiveCount"`
}

const (
	maxMessageBytes      = 1 << 20
	maxVisibilitySeconds = 43_200
	maxDelaySeconds      = 900
	maxWaitSeconds       = 20
)

func (a attributes) parse() (settings, error) {
	var s settings
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, ok := standard[name]; !ok {
			return s, errUnknownAttribute(name)
		}
	}
	seconds, err := strconv.Atoi(a.current("VisibilityTimeout"))
	if err != nil {
		return s, errAttributeValue("Invalid value for the parameter VisibilityTimeout.")
	}
	s.visibility = time.Duration(seconds) * time.Second
	if text := a["RedrivePolicy"]; text != "" {
		if err := json.Unmarshal([]byte(text), &s.redrive); err != nil {
			return s, errParameter("Value %s for parameter RedrivePolicy is invalid.", text)
		}
	}
	return s, nil
}

// current returns an attribute's current value, default or not.
func (a attributes) current(name string) string {
	if value, ok := a[name]; ok {
		return value
	}
	return standard[name]
}

// differs returns the name of an attribute with another value than wanted, "" if there
// is none.
func (a attributes) differs(wanted attributes) string {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if a.current(name) != wanted[name] {
			return name
		}
	}
	return ""
}

// describe returns the requested attributes; names may contain "All".
func (q *queue) describe(arn string, names []string, now time.Time) (map[string]string, error) {
	inFlight := 0
	for _, m := range q.order {
		if m.inFlight(now) {
			inFlight++
		}
	}
	visible := q.visible(now)
	all := map[string]string{
		"QueueArn":                              arn,
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(len(q.order) - visible - inFlight),
	}
	for name := range standard {
		all[name] = q.attributes.current(name)
	}
	asked := map[string]string{}
	for _, name := range names {
		value, known := all[name]
		switch {
		case name == "All":
			asked = maps.Clone(all)
		case !known:
			return nil, errUnknownAttribute(name)
		default:
			asked[name] = value
		}
	}
	maps.DeleteFunc(asked, func(_, value string) bool { return value == "" })
	return asked, nil
}
