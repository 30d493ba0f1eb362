package streampoller

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// record is a stream's record on its way to the function.
type record struct {
	position
	lane int
	json json.RawMessage // as Lambda sends it; nil if no filter lets it through
	done bool
}

// record makes the record that Lambda sends, and decides whether and in which lane it is sent.
func (p *Poller) record(shard string, r types.Record) (*record, error) {
	d := r.Dynamodb
	if d == nil || aws.ToString(d.SequenceNumber) == "" {
		return nil, fmt.Errorf("record %s has no sequence number", aws.ToString(r.EventID))
	}
	change := map[string]any{
		"SequenceNumber": *d.SequenceNumber, "SizeBytes": aws.ToInt64(d.SizeBytes), "StreamViewType": string(d.StreamViewType),
	}
	if d.ApproximateCreationDateTime != nil {
		change["ApproximateCreationDateTime"] = d.ApproximateCreationDateTime.Unix()
	}
	for name, attributes := range map[string]map[string]types.AttributeValue{"Keys": d.Keys, "NewImage": d.NewImage, "OldImage": d.OldImage} {
		if attributes == nil {
			continue
		}
		image, err := plain(attributes)
		if err != nil {
			return nil, fmt.Errorf("record %s: %w", *d.SequenceNumber, err)
		}
		change[name] = image
	}
	event := map[string]any{
		"eventID": aws.ToString(r.EventID), "eventName": string(r.EventName), "eventVersion": aws.ToString(r.EventVersion),
		"eventSource": aws.ToString(r.EventSource), "awsRegion": p.c.Region, "dynamodb": change, "eventSourceARN": p.c.SourceARN,
	}
	out := &record{position: position{shard, *d.SequenceNumber}}
	if !p.wanted(event) {
		return out, nil
	}
	keys, err := json.Marshal(change["Keys"]) // map keys are sorted
	if err != nil {
		return nil, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(keys)
	out.lane = int(hash.Sum32() % uint32(p.c.Parallel))
	out.json, err = json.Marshal(event)
	return out, err
}

func (p *Poller) wanted(event map[string]any) bool {
	for _, f := range p.filters {
		if f.Match(event) {
			return true
		}
	}
	return len(p.filters) == 0
}

// plain is a map of attributes as DynamoDB's JSON, decoded.
func plain(attributes map[string]types.AttributeValue) (map[string]any, error) {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		value, err := plainValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

func plainValue(v types.AttributeValue) (map[string]any, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}, nil
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}, nil
	case *types.AttributeValueMemberB:
		return map[string]any{"B": base64.StdEncoding.EncodeToString(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}, nil
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": list(v.Value)}, nil
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": list(v.Value)}, nil
	}
	return nil, fmt.Errorf("no item of the table has a %T", v)
}

// list is a set as filters see it.
func list(set []string) []any {
	out := make([]any, len(set))
	for i, v := range set {
		out[i] = v
	}
	return out
}
