package checks

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/eventpattern"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// mostFilters is Lambda's default quota of filters for one event source.
const mostFilters = 5

// giveUps are the properties with which Lambda drops records of a stream, or reorders
// what it tries again.
var giveUps = []string{"MaximumRetryAttempts", "MaximumRecordAgeInSeconds", "BisectBatchOnFunctionError", "DestinationConfig", "TumblingWindowInSeconds"}

func TestAStreamGivesNoRecordUp(t *testing.T) {
	tmpl := parseTemplate(t, templateFile)
	readers := 0
	for _, f := range tmpl.functions() {
		for _, e := range f.events("DynamoDB") {
			readers++
			e.expect(t, "StartingPosition", "TRIM_HORIZON")
			e.expect(t, "FunctionResponseTypes.0", "ReportBatchItemFailures")
			if f.at("Condition").text() != tmpl.at("Resources.LedgerTable.Properties.StreamSpecification.0").text() {
				f.errorf(t, "%s may be there without the stream", f.id)
			}
			for _, name := range giveUps {
				if n := e.at(name); n.Node != nil {
					n.errorf(t, "%s gives records up: %s", f.id, name)
				}
			}
			filters := e.at("FilterCriteria.Filters").list()
			if len(filters) == 0 || len(filters) > mostFilters {
				e.errorf(t, "%s has %d filters, Lambda allows %d", f.id, len(filters), mostFilters)
			}
		}
	}
	if readers != 1 {
		t.Errorf("the stream has %d readers, want 1", readers)
	}
}

// Nothing is published of an item that cannot be read; an order that is only accepted invokes the function for nothing.
func TestFiltersLetThroughWhatIsPublished(t *testing.T) {
	records := ofTheLedger(t).records
	kinds := map[sale.EventType]int{}
	criteria := parseTemplate(t, templateFile).at("Resources.PublishFunction.Properties.Events.Stream.Properties.FilterCriteria.Filters").list()
	published, through, places := map[string]bool{}, map[string]bool{}, 0
	for written, r := range records {
		kind, _, _ := strings.Cut(written, "[")
		var content map[string]any
		var images struct {
			DynamoDB struct{ OldImage, NewImage ledger.Image }
		}
		if err := errors.Join(json.Unmarshal(r, &content), json.Unmarshal(r, &images)); err != nil {
			t.Fatal(err)
		}
		item := images.DynamoDB.NewImage
		events, _ := ledger.Changes(images.DynamoDB.OldImage, item, time.UnixMilli(0))
		for _, e := range events {
			kinds[e.Type]++
		}
		becomes := len(events) > 0
		passed := slices.ContainsFunc(criteria, func(f node) bool {
			pattern, err := eventpattern.Compile(f.at("Pattern").text())
			if err != nil {
				f.errorf(t, "is no pattern: %v", err)
			}
			return err == nil && pattern.Match(content)
		})
		published[kind] = published[kind] || becomes
		through[kind] = through[kind] || passed
		// Reconciling saves where it stands every minute.
		if item["cursor"] != nil {
			if places++; !passed {
				t.Errorf("EventsStoppedAlarm takes a stream of which reconciling is filtered away for one that is not read: %s", r)
			}
		}
		if becomes && !passed {
			t.Errorf("a record is published and filtered away: %s", r)
		}
		if kind == "CLAIM" && item["orderId"] == nil && passed {
			t.Errorf("an order that is accepted invokes the function for nothing: %s", r)
		}
	}
	if places == 0 || len(kinds) < 8 {
		t.Errorf("%d records of reconciling, and events of the kinds %v: the suite no longer shows what is published", places, kinds)
	}
	for kind := range through {
		if through[kind] && !published[kind] {
			t.Errorf("%s invokes the function for nothing", kind)
		}
	}
}
