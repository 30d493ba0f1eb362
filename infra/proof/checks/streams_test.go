package checks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/eventpattern"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const (
	// mostFilters is Lambda's default quota of filters for one event source.
	mostFilters = 5
	// mostFactor and fullBatch bound the environments that a stream may use: that many for
	// each of its shards, each with a full batch as a rule.
	mostFactor, fullBatch = 2, 100
)

// giveUps are the properties with which Lambda drops records of a stream, or reorders
// what it tries again.
var giveUps = []string{"MaximumRetryAttempts", "MaximumRecordAgeInSeconds", "BisectBatchOnFunctionError", "DestinationConfig", "TumblingWindowInSeconds"}

func TestStreamsOfTheTemplate(t *testing.T) {
	const event = "Resources/PublishFunction/Properties/Events/Stream/Properties/"
	checkTemplate(t, []templateRule{
		{
			row:  8,
			name: "a stream is read from its beginning, reports its failures item by item, and never gives a record up",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("DynamoDB") {
						p := e.at("Properties")
						if p.at("StartingPosition").text() != "TRIM_HORIZON" {
							found = append(found, e.find("%s misses what changes while it is deployed", f.id))
						}
						if p.at("FunctionResponseTypes", "0").text() != "ReportBatchItemFailures" {
							found = append(found, e.find("%s fails whole batches", f.id))
						}
						for _, name := range giveUps {
							if n := p.at(name); n.Node != nil {
								found = append(found, n.find("%s gives records up: %s", f.id, name))
							}
						}
						factor, _ := tmpl.number(p.at("ParallelizationFactor"))
						size, _ := tmpl.number(p.at("BatchSize"))
						if factor > mostFactor || size != fullBatch {
							found = append(found, e.find("%s reads %d batches of %d from each shard at once", f.id, factor, size))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{event + "StartingPosition", "LATEST"},
				{event + "FunctionResponseTypes", ""},
				{event + "MaximumRetryAttempts", "10"},
				{event + "BisectBatchOnFunctionError", "true"},
				{event + "ParallelizationFactor", "10"},
			},
		},
		{
			row:  8,
			name: "the filters of a stream are few enough, and patterns of what Lambda can filter by",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("DynamoDB") {
						filters := e.at("Properties", "FilterCriteria", "Filters").list()
						if len(filters) == 0 || len(filters) > mostFilters {
							found = append(found, e.find("%s has %d filters, Lambda allows %d", f.id, len(filters), mostFilters))
						}
						for _, filter := range filters {
							var pattern map[string]map[string]any
							err := json.Unmarshal([]byte(filter.at("Pattern").text()), &pattern)
							if err != nil || len(pattern) != 1 || pattern["dynamodb"] == nil || !leavesAreLists(pattern["dynamodb"]) {
								found = append(found, filter.find("%s: a filter is not a pattern of the record's dynamodb member (%v)", f.id, err))
							}
						}
					}
				}
				return found
			},
			breaks: []edit{
				{event + "FilterCriteria", ""},
				{event + "FilterCriteria/Filters/0/Pattern", `'{"eventName":["INSERT"]}'`},
				{event + "FilterCriteria/Filters/0/Pattern", `'{"dynamodb":{"Keys":{"pk":{"S":{"prefix":"CLAIM#"}}}}}'`},
				{event + "FilterCriteria/Filters/0/Pattern", `'{"dynamodb":'`},
			},
		},
		{
			row:  8,
			name: "the table has the stream, with both images, exactly where a function reads it, and by default neither is there",
			check: func(tmpl template) (found []finding) {
				for _, table := range tmpl.resources("AWS::DynamoDB::Table") {
					stream := alternatives(table.at("Properties", "StreamSpecification"))
					condition := table.at("Properties", "StreamSpecification", "0").text()
					if len(stream) != 2 || stream[0].at("StreamViewType").text() != "NEW_AND_OLD_IMAGES" || stream[1].target() != "AWS::NoValue" {
						found = append(found, table.find("%s: the stream has not both images, or cannot be switched off", table.id))
					}
					readers := slices.DeleteFunc(tmpl.functions(), func(f function) bool { return len(f.events("DynamoDB")) == 0 })
					for _, f := range readers {
						if f.at("Condition").text() != condition {
							found = append(found, f.find("%s may be there without the stream", f.id))
						}
						if !slices.Equal(f.events("DynamoDB")[0].at("Properties", "Stream").own().references(), []string{table.id}) {
							found = append(found, f.find("%s reads another stream", f.id))
						}
					}
					if len(readers) != 1 || tmpl.at("Parameters", "PublishEvents", "Default").text() != "false" {
						found = append(found, table.find("%s: its stream has %d readers, or is there by default", table.id, len(readers)))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/LedgerTable/Properties/StreamSpecification", "{ StreamViewType: NEW_AND_OLD_IMAGES }"},
				{"Resources/LedgerTable/Properties/StreamSpecification/1/StreamViewType", "NEW_IMAGE"},
				{"Resources/PublishFunction/Condition", ""},
				{"Parameters/PublishEvents/Default", "'true'"},
			},
		},
	})
}

// leavesAreLists reports whether every leaf of a pattern is a list of alternatives.
func leavesAreLists(n any) bool {
	switch n := n.(type) {
	case map[string]any:
		for _, child := range n {
			if !leavesAreLists(child) {
				return false
			}
		}
		return len(n) > 0
	case []any:
		return len(n) > 0
	}
	return false
}

// events returns what a record publishes: nothing of an item that cannot be read.
func events(t *testing.T, record []byte) []sale.Event {
	t.Helper()
	var content struct {
		DynamoDB struct{ OldImage, NewImage ledger.Image }
	}
	if err := json.Unmarshal(record, &content); err != nil {
		t.Fatal(err)
	}
	all, err := ledger.Changes(content.DynamoDB.OldImage, content.DynamoDB.NewImage, time.UnixMilli(0))
	if err != nil {
		return nil
	}
	return all
}

// passes reports whether one of the filters lets the record through.
func passes(t *testing.T, record []byte, filters []node) bool {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(record, &content); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(filters, func(f node) bool {
		pattern, err := eventpattern.Compile(f.at("Pattern").text())
		return err == nil && pattern.Match(content)
	})
}

// newAttributes are the attributes of a record's item after the write.
func newAttributes(t *testing.T, record []byte) map[string]any {
	t.Helper()
	var content struct {
		DynamoDB struct{ NewImage map[string]any }
	}
	if err := json.Unmarshal(record, &content); err != nil {
		t.Fatal(err)
	}
	return content.DynamoDB.NewImage
}

func TestFiltersLetThroughWhatIsPublished(t *testing.T) {
	records := ofTheLedger(t).records
	kinds := map[sale.EventType]int{}
	for _, r := range records {
		for _, e := range events(t, r) {
			kinds[e.Type]++
		}
	}
	for _, kind := range []sale.EventType{sale.EventConfirmed, sale.EventPaid, sale.EventReleased, sale.EventRefundDue, sale.EventSoldOut, sale.EventDrained, sale.EventChanged, sale.EventRollClosed} {
		if kinds[kind] == 0 {
			t.Errorf("the suite publishes no %s: %v", kind, kinds)
		}
	}
	const filters = "Resources/PublishFunction/Properties/Events/Stream/Properties/FilterCriteria/Filters/"
	checkTemplate(t, []templateRule{{
		row:  8,
		name: "the filters let every record through that is published, and neither an accepted order nor a kind of item of which nothing is",
		check: func(tmpl template) (found []finding) {
			event := tmpl.at("Resources", "PublishFunction", "Properties", "Events", "Stream", "Properties")
			criteria := event.at("FilterCriteria", "Filters").list()
			published, through, places := map[string]bool{}, map[string]bool{}, 0
			for written, r := range records {
				kind, _, _ := strings.Cut(written, "[")
				item, passed, becomes := newAttributes(t, r), passes(t, r, criteria), len(events(t, r)) > 0
				published[kind] = published[kind] || becomes
				through[kind] = through[kind] || passed
				// Reconciling saves where it stands every minute.
				if item["cursor"] != nil {
					if places++; !passed {
						found = append(found, event.find("EventsStoppedAlarm takes a stream of which reconciling is filtered away for one that is not read: %s", r))
					}
				}
				if becomes && !passed {
					found = append(found, event.find("a record is published and filtered away: %s", r))
				}
				if kind == "CLAIM" && item["orderId"] == nil && passed {
					found = append(found, event.find("an order that is accepted invokes the function for nothing: %s", r))
				}
			}
			if places == 0 {
				t.Error("nothing is reconciled")
			}
			for kind := range through {
				if through[kind] && !published[kind] {
					found = append(found, event.find("%s invokes the function for nothing", kind))
				}
			}
			return found
		},
		breaks: []edit{
			{filters + "0", ""}, {filters + "1", ""}, {filters + "2", ""}, {filters + "3", ""}, {filters + "4", ""},
			{filters + "0/Pattern", `'{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"CLAIM#"}]}}}}'`},
			{filters + "1/Pattern", `'{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"REFUND#"},{"prefix":"CHANGES#"},{"prefix":"STOCK#"}]}}}}'`},
			{filters + "1/Pattern", `'{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"REFUND#"}]}}}}'`},
			{filters + "2/Pattern", `'{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"SALE"}]}},"NewImage":{"closesAt":{"N":[{"exists":true}]},"cursor":{"S":[{"exists":false}]}}}}'`},
		},
	}})
}
