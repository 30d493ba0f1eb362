package sqs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Attributes are a queue's settable attributes in their stored form.
type attributes map[string]string

// Settings are a queue's parsed attributes.
type settings struct {
	visibility time.Duration
	redrive    *redrivePolicy
}

// A number is an attribute with a range, both ends included.
type number struct{ least, most, standard int }

const (
	maxMessageBytes      = 1 << 20
	maxVisibilitySeconds = 43_200
	maxDelaySeconds      = 900
	maxWaitSeconds       = 20
)

var numbers = map[string]number{
	"VisibilityTimeout":      {0, maxVisibilitySeconds, 30},
	"MessageRetentionPeriod": {60, 1_209_600, 345_600},
}

var readOnly = []string{
	"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	"CreatedTimestamp", "LastModifiedTimestamp", "QueueArn",
}

// checkAttributes checks the attributes of a CreateQueue or SetQueueAttributes one by
// one and returns them in their stored form. An empty value clears an attribute that
// has no default.
func checkAttributes(wanted map[string]string) (attributes, error) {
	kept := make(attributes, len(wanted))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		clean, err := checkAttribute(name, wanted[name])
		if err != nil {
			return nil, err
		}
		kept[name] = clean
	}
	return kept, nil
}

func checkAttribute(name, value string) (string, error) {
	if n, ok := numbers[name]; ok {
		v, err := strconv.Atoi(value)
		if err != nil || v < n.least || v > n.most {
			return "", errAttributeValue("Invalid value for the parameter %s.", name)
		}
		return strconv.Itoa(v), nil
	}
	if name != "RedrivePolicy" {
		return "", errUnknownAttribute(name)
	}
	policy, err := parseRedrivePolicy(value)
	if err != nil || policy == nil {
		return "", err
	}
	return policy.String(), nil
}

// parse reads attributes that checkAttributes has accepted.
func (a attributes) parse() (settings, error) {
	seconds, _ := strconv.Atoi(a.current("VisibilityTimeout"))
	redrive, err := parseRedrivePolicy(a["RedrivePolicy"])
	return settings{visibility: time.Duration(seconds) * time.Second, redrive: redrive}, err
}

// with returns the attributes with some of them changed.
func (a attributes) with(changes attributes) attributes {
	changed := maps.Clone(a)
	if changed == nil {
		changed = attributes{}
	}
	maps.Copy(changed, changes)
	maps.DeleteFunc(changed, func(_, value string) bool { return value == "" })
	return changed
}

// current returns an attribute's current value, default or not.
func (a attributes) current(name string) string {
	if value, ok := a[name]; ok {
		return value
	}
	if n, ok := numbers[name]; ok {
		return strconv.Itoa(n.standard)
	}
	return ""
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
func (q *queue) describe(arn string, names []string) (map[string]string, error) {
	all := map[string]string{
		"QueueArn":                              arn,
		"ApproximateNumberOfMessages":           strconv.Itoa(q.ready.Len()),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(q.inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(q.hidden.Len() - q.inFlight),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.modified.Unix(), 10),
	}
	for _, name := range settable() {
		if value := q.attributes.current(name); value != "" {
			all[name] = value
		}
	}
	asked := map[string]string{}
	for _, name := range names {
		switch {
		case name == "All":
			return all, nil
		case !slices.Contains(settable(), name) && !slices.Contains(readOnly, name):
			return nil, errUnknownAttribute(name)
		}
		if value, ok := all[name]; ok {
			asked[name] = value
		}
	}
	return asked, nil
}

func settable() []string {
	return append(slices.Collect(maps.Keys(numbers)), "RedrivePolicy")
}

// A redrivePolicy sends a message that was received MaxReceiveCount times
// without being deleted to the queue of that ARN.
type redrivePolicy struct {
	Target          string `json:"deadLetterTargetArn"`
	MaxReceiveCount int    `json:"maxReceiveCount"`
}

// String returns the policy as in GetQueueAttributes, with the count always a number.
func (p *redrivePolicy) String() string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, p.Target, p.MaxReceiveCount)
}

// parseRedrivePolicy reads a RedrivePolicy attribute; empty is no policy. Both
// spellings of the count, 5 and "5", are common.
func parseRedrivePolicy(text string) (*redrivePolicy, error) {
	if text == "" {
		return nil, nil
	}
	refuse := func(reason string) error {
		return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: %s", text, reason)
	}
	var raw struct {
		Target *string         `json:"deadLetterTargetArn"`
		Count  json.RawMessage `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, refuse("Redrive policy is not a valid JSON map.")
	}
	switch {
	case raw.Target == nil:
		return nil, refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	case raw.Count == nil:
		return nil, refuse("Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	case !isQueueARN(*raw.Target):
		return nil, refuse("Invalid value for deadLetterTargetArn.")
	}
	policy := &redrivePolicy{Target: *raw.Target}
	if err := json.Unmarshal([]byte(strings.Trim(string(raw.Count), `"`)), &policy.MaxReceiveCount); err != nil ||
		policy.MaxReceiveCount < 1 || policy.MaxReceiveCount > 1000 {
		return nil, refuse("Invalid value for maxReceiveCount: it must be between 1 and 1000.")
	}
	return policy, nil
}

// isQueueARN reports whether text is arn:aws:sqs:<region>:<account>:<name>.
func isQueueARN(text string) bool {
	parts := strings.Split(text, ":")
	return len(parts) == 6 && parts[0] == "arn" && parts[2] == "sqs" && parts[5] != "" &&
		!strings.ContainsAny(text, "\"\\") && isText(text)
}

// checkTarget checks that a RedrivePolicy's dead-letter queue exists.
func (s *Server) checkTarget(text string) error {
	policy, err := parseRedrivePolicy(text)
	if err != nil || policy == nil {
		return err
	}
	if s.byARN(policy.Target) == nil {
		return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", text)
	}
	return nil
}
