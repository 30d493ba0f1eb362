package template

import (
	"encoding/json"
	"strconv"
)

// queueNumbers are the attributes that CreateQueue accepts as written in the template,
// with their ranges.
var queueNumbers = []struct {
	name      string
	low, high int
}{
	{"DelaySeconds", 0, 900},
	{"MaximumMessageSize", 1024, 1 << 20},
	{"MessageRetentionPeriod", 60, 1209600},
	{"ReceiveMessageWaitTimeSeconds", 0, 20},
	{"VisibilityTimeout", 0, 43200},
}

func (r *reader) queues() []Queue {
	var out []Queue
	names := map[string]string{}
	placed := map[string]bool{}
	var place func(res *resource, above int)
	place = func(res *resource, above int) {
		if placed[res.id] || r.err != nil {
			return
		}
		if above > len(r.ids) {
			r.fail(res.key, res.id, "the dead-letter queues form a circle")
			return
		}
		q, deadLetters := r.queue(res)
		if deadLetters != nil {
			place(deadLetters, above+1)
		}
		if other, taken := names[q.Name]; taken {
			r.fail(res.key, res.id, "has the same name as %s", other)
		}
		names[q.Name] = res.id
		placed[res.id] = true
		out = append(out, q)
	}
	for _, res := range r.ofType(typeQueue) {
		place(res, 0)
	}
	return out
}

// queue returns a queue and, if it has one, its dead-letter queue.
func (r *reader) queue(res *resource) (Queue, *resource) {
	p := res.props
	used := []string{"QueueName", "SqsManagedSseEnabled", "RedrivePolicy", "RedriveAllowPolicy"}
	for _, n := range queueNumbers {
		used = append(used, n.name)
	}
	p.only(used, []string{"KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "Tags"})
	q := Queue{LogicalID: res.id, Name: r.queueName(res.key, res.id, res), Attributes: map[string]string{}}
	for _, n := range queueNumbers {
		if v := p.get(n.name); !v.absent() {
			q.Attributes[n.name] = strconv.Itoa(v.number(0, n.low, n.high))
		}
	}
	if v := p.get("SqsManagedSseEnabled"); !v.absent() {
		q.Attributes["SqsManagedSseEnabled"] = strconv.FormatBool(v.flag(false))
	}
	if v := p.get("RedriveAllowPolicy"); !v.absent() {
		q.Attributes["RedriveAllowPolicy"] = r.redriveAllowPolicy(v)
	}
	policy := p.get("RedrivePolicy")
	if policy.absent() {
		return q, nil
	}
	policy.only([]string{"deadLetterTargetArn", "maxReceiveCount"}, nil)
	target := policy.need("deadLetterTargetArn")
	deadLetters := r.queueOf(target)
	q.Attributes["RedrivePolicy"] = asJSON(struct {
		Target string `json:"deadLetterTargetArn"`
		Count  int    `json:"maxReceiveCount"`
	}{target.text(""), policy.need("maxReceiveCount").number(1, 1, 1000)})
	return q, deadLetters
}

func (r *reader) redriveAllowPolicy(v value) string {
	v.only([]string{"redrivePermission", "sourceQueueArns"}, nil)
	policy := struct {
		Permission string   `json:"redrivePermission"`
		Sources    []string `json:"sourceQueueArns,omitempty"`
	}{Permission: v.need("redrivePermission").text("")}
	for _, source := range v.get("sourceQueueArns").list() {
		policy.Sources = append(policy.Sources, r.localARN(source))
	}
	switch policy.Permission {
	case "allowAll", "denyAll", "byQueue":
	default:
		v.get("redrivePermission").fail("must be allowAll, denyAll or byQueue")
	}
	return asJSON(policy)
}

func asJSON(v any) string {
	// A struct of strings and numbers always marshals.
	text, _ := json.Marshal(v)
	return string(text)
}
