package sqs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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

// An allowPolicy says which queues may name this one as their dead-letter queue.
type allowPolicy struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns"`
}

// parseAllowPolicy reads a RedriveAllowPolicy attribute; empty allows all.
func parseAllowPolicy(text string) (allowPolicy, error) {
	policy := allowPolicy{Permission: "allowAll"}
	if text == "" {
		return policy, nil
	}
	err := json.Unmarshal([]byte(text), &policy)
	switch {
	case err != nil:
	case policy.Permission == "byQueue" && len(policy.Sources) >= 1 && len(policy.Sources) <= 10:
		return policy, nil
	case (policy.Permission == "allowAll" || policy.Permission == "denyAll") && len(policy.Sources) == 0:
		return policy, nil
	}
	return policy, errParameter("Value %s for parameter RedriveAllowPolicy is invalid.", text)
}

func (p allowPolicy) allows(source string) bool {
	return p.Permission == "allowAll" || p.Permission == "byQueue" && slices.Contains(p.Sources, source)
}

// checkTarget checks that a RedrivePolicy's dead-letter queue exists.
func (s *Server) checkTarget(name, text string) error {
	policy, err := parseRedrivePolicy(text)
	if err != nil || policy == nil {
		return err
	}
	target := s.byARN(policy.Target)
	if target == nil {
		return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.", text)
	}
	allow, err := parseAllowPolicy(target.Attributes["RedriveAllowPolicy"])
	if err != nil {
		return err
	}
	if !allow.allows(s.arn(name)) {
		return errParameter("Value %s for parameter RedrivePolicy is invalid. Reason: Dead letter target does not allow this source queue.", text)
	}
	return nil
}

// byARN finds a queue of this server, nil if there is none.
func (s *Server) byARN(arn string) *queue {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil
	}
	return s.named[name]
}

func (s *Server) arn(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + s.options.AccountID + ":" + name
}

// sourcesOf lists the names of the queues whose dead-letter queue is that one,
// sorted.
func (s *Server) sourcesOf(q *queue) []string {
	var names []string
	for name, source := range s.named {
		if p := source.settings.redrive; p != nil && p.Target == s.arn(q.Name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
