package sqs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A config is a queue's configuration. Its JSON form is its form in the journal. Times
// are Unix nanoseconds.
type config struct {
	Name       string            `json:"name"`
	Key        string            `json:"key"` // distinguishes successive queues of the same name
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Created    int64             `json:"created"`
	Modified   int64             `json:"modified"`
	Purged     int64             `json:"purged,omitempty"`
}

// Settings are a queue's parsed attributes.
type settings struct {
	visibility, delay, retention, wait time.Duration
	maxBytes                           int
	redrive                            *redrivePolicy
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
	"VisibilityTimeout":             {0, maxVisibilitySeconds, 30},
	"DelaySeconds":                  {0, maxDelaySeconds, 0},
	"MessageRetentionPeriod":        {60, 1_209_600, 345_600},
	"ReceiveMessageWaitTimeSeconds": {0, maxWaitSeconds, 0},
	"MaximumMessageSize":            {1_024, maxMessageBytes, maxMessageBytes},
	"KmsDataKeyReusePeriodSeconds":  {60, 86_400, 300},
}

var fifoOnly = []string{"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}

var readOnly = []string{
	"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	"CreatedTimestamp", "LastModifiedTimestamp", "QueueArn",
}

// checkAttributes checks the attributes of a CreateQueue or SetQueueAttributes one by
// one and returns them in their stored form. An empty value clears an attribute that
// has no default.
func checkAttributes(attributes map[string]string) (map[string]string, error) {
	kept := make(map[string]string, len(attributes))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		clean, err := checkAttribute(name, value)
		if err != nil {
			return nil, err
		}
		kept[name] = clean
	}
	if kept["KmsMasterKeyId"] != "" && kept["SqsManagedSseEnabled"] == "true" {
		return nil, errAttributeName("You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
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
	switch name {
	case "Policy":
		if value != "" && !json.Valid([]byte(value)) {
			return "", errAttributeValue("Invalid value for the parameter Policy.")
		}
		return value, nil
	case "KmsMasterKeyId":
		return value, nil
	case "SqsManagedSseEnabled":
		if value != "true" && value != "false" {
			return "", errAttributeValue("Invalid value for the parameter SqsManagedSseEnabled.")
		}
		return value, nil
	case "RedrivePolicy":
		policy, err := parseRedrivePolicy(value)
		if err != nil || policy == nil {
			return "", err
		}
		return policy.String(), nil
	case "RedriveAllowPolicy":
		if _, err := parseAllowPolicy(value); err != nil {
			return "", err
		}
		return value, nil
	}
	return "", errUnknownAttribute(name)
}

// parseSettings reads attributes that checkAttributes has accepted. It fails on others,
// which only a damaged journal can contain.
func parseSettings(attributes map[string]string) (settings, error) {
	values := map[string]int{}
	for name, n := range numbers {
		values[name] = n.standard
		if text, ok := attributes[name]; ok {
			v, err := strconv.Atoi(text)
			if err != nil {
				return settings{}, errAttributeValue("Invalid value for the parameter %s.", name)
			}
			values[name] = v
		}
	}
	redrive, err := parseRedrivePolicy(attributes["RedrivePolicy"])
	seconds := func(name string) time.Duration { return time.Duration(values[name]) * time.Second }
	return settings{
		visibility: seconds("VisibilityTimeout"),
		delay:      seconds("DelaySeconds"),
		retention:  seconds("MessageRetentionPeriod"),
		wait:       seconds("ReceiveMessageWaitTimeSeconds"),
		maxBytes:   values["MaximumMessageSize"],
		redrive:    redrive,
	}, err
}

// with returns a config with some attributes changed. The two kinds of encryption
// exclude each other: setting one clears the other.
func (c config) with(changes map[string]string) config {
	attributes := maps.Clone(c.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	if changes["SqsManagedSseEnabled"] == "true" {
		delete(attributes, "KmsMasterKeyId")
	}
	if changes["KmsMasterKeyId"] != "" {
		attributes["SqsManagedSseEnabled"] = "false"
	}
	for name, value := range changes {
		if value == "" {
			delete(attributes, name)
			continue
		}
		attributes[name] = value
	}
	c.Attributes = attributes
	return c
}

// current returns an attribute's current value, default or not.
func (c config) current(name string) string {
	if value, ok := c.Attributes[name]; ok {
		return value
	}
	if n, ok := numbers[name]; ok && name != "KmsDataKeyReusePeriodSeconds" {
		return strconv.Itoa(n.standard)
	}
	switch {
	case name == "SqsManagedSseEnabled":
		return "true"
	case name == "KmsDataKeyReusePeriodSeconds" && c.Attributes["KmsMasterKeyId"] != "":
		return strconv.Itoa(numbers[name].standard)
	}
	return ""
}

// differs returns the name of an attribute with another value than wanted, "" if there
// is none.
func (c config) differs(wanted map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if c.current(name) != wanted[name] {
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
		"CreatedTimestamp":                      strconv.FormatInt(time.Unix(0, q.Created).Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(time.Unix(0, q.Modified).Unix(), 10),
	}
	for _, name := range settable() {
		if value := q.current(name); value != "" {
			all[name] = value
		}
	}
	asked := map[string]string{}
	for _, name := range names {
		switch {
		case name == "All":
			return all, nil
		case !isAttribute(name):
			return nil, errUnknownAttribute(name)
		}
		if value, ok := all[name]; ok {
			asked[name] = value
		}
	}
	return asked, nil
}

func settable() []string {
	return append(slices.Collect(maps.Keys(numbers)), "Policy", "KmsMasterKeyId", "SqsManagedSseEnabled", "RedrivePolicy", "RedriveAllowPolicy")
}

func isAttribute(name string) bool {
	return slices.Contains(settable(), name) || slices.Contains(readOnly, name) || slices.Contains(fifoOnly, name)
}
