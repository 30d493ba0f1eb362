package checks

import (
	"testing"
)

func TestSchedulesOfTheTemplate(t *testing.T) {
	const (
		seeding     = "Resources/SeedFunction/Properties/Events/Seeding/Properties/"
		reconciling = "Resources/ReconcileFunction/Properties/Events/Reconciling/Properties/"
	)
	alarms := parseTemplate(t, read(t, alarmsFile))
	checkTemplate(t, []templateRule{
		{
			row:  9,
			name: "a schedule that cannot invoke its function gives up in time, into a queue that is watched",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					for _, e := range f.events("ScheduleV2") {
						retry := e.at("Properties", "RetryPolicy")
						_, attempts := tmpl.number(retry.at("MaximumRetryAttempts"))
						_, age := tmpl.number(retry.at("MaximumEventAgeInSeconds"))
						dead, ok := tmpl.resource("AWS::SQS::Queue", e.at("Properties", "DeadLetterConfig", "Arn").target())
						if !attempts || !age || !ok {
							found = append(found, e.find("%s: a lost %s is lost", f.id, e.id))
							continue
						}
						if !alarms.watches(dead.id + " ApproximateNumberOfMessagesVisible") {
							found = append(found, dead.find("nobody looks into %s", dead.id))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{seeding + "DeadLetterConfig", ""},
				{seeding + "RetryPolicy", ""},
				{reconciling + "RetryPolicy/MaximumEventAgeInSeconds", ""},
				{reconciling + "DeadLetterConfig/Arn", "!GetAtt OrderQueue.DeadArn"},
			},
		},
		{
			row:  9,
			name: "a function that is invoked asynchronously bounds its retries and their age",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if len(f.events("ScheduleV2")) == 0 {
						continue
					}
					config := f.property("EventInvokeConfig")
					if n, ok := tmpl.number(config.at("MaximumRetryAttempts")); !ok || n < 0 || n > 2 {
						found = append(found, f.find("%s: retries are not bounded", f.id))
					}
					if n, ok := tmpl.number(config.at("MaximumEventAgeInSeconds")); !ok || n < 60 || n > 3600 {
						found = append(found, f.find("%s: an event may come hours late", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/EventInvokeConfig/MaximumRetryAttempts", ""},
				{"Resources/ReconcileFunction/Properties/EventInvokeConfig/MaximumEventAgeInSeconds", "21600"},
			},
		},
		{
			row:  9,
			name: "every function has a place for its failed events, or says why not",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					if _, ok := tmpl.resource("AWS::SQS::Queue", f.failures().target()); !ok && !tmpl.excused(f.resource, "CKV_AWS_116") {
						found = append(found, f.find("%s: failed events go nowhere, and no reason is given (CKV_AWS_116)", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/SeedFunction/Properties/EventInvokeConfig/DestinationConfig", ""},
				{"excuse ReconcileFunction CKV_AWS_116", ""},
				{"excuse FinalizeFunction CKV_AWS_116", ""},
			},
		},
	})
}
