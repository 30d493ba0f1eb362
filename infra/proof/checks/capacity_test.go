package checks

import (
	"slices"
	"strings"
	"testing"
)

// alternatives returns the possible values: both branches of !If, or the value itself.
func alternatives(n node) []node {
	if n.Node != nil && n.Tag == "!If" {
		return slices.Concat(alternatives(n.at("1")), alternatives(n.at("2")))
	}
	return []node{n}
}

// byParameter reports whether a value is a number parameter's, or AWS::NoValue.
func byParameter(tmpl template, n node, parameter string) bool {
	all := alternatives(n)
	// -1, which removes a limit, is below the schema's minimum, so it cannot be the
	// parameter's lower bound.
	declared := tmpl.at("Parameters", parameter)
	isNumber := declared.at("Type").text() == "Number" || strings.HasSuffix(declared.at("AllowedPattern").text(), "[0-9]*)$")
	return len(all) == 2 && slices.Contains(all[0].references(), parameter) && all[1].target() == "AWS::NoValue" && isNumber
}

func TestCapacityOfTheTemplate(t *testing.T) {
	const table = "Resources/LedgerTable/Properties/"
	checkTemplate(t, []templateRule{
		{
			row:  6,
			name: "a table is warmed and bounded by parameters, and by default neither",
			check: func(tmpl template) (found []finding) {
				for _, r := range tmpl.resources("AWS::DynamoDB::Table") {
					for place, parameter := range map[string]string{
						"WarmThroughput": "WarmWriteUnitsPerSecond", "OnDemandThroughput": "MaxWriteRequestUnits",
					} {
						if !byParameter(tmpl, r.at("Properties", place), parameter) || tmpl.at("Parameters", parameter, "Default").text() != "0" {
							found = append(found, r.find("%s: %s is not %s's, or not left out by default", r.id, place, parameter))
						}
					}
				}
				return found
			},
			breaks: []edit{
				{table + "WarmThroughput", ""},
				{table + "OnDemandThroughput", "{MaxWriteRequestUnits: 4000}"},
				{"Parameters/WarmWriteUnitsPerSecond/Default", "40000"},
			},
		},
		{
			row:  10,
			name: "every function has reserved concurrency by parameter, or says why not",
			check: func(tmpl template) (found []finding) {
				for _, f := range tmpl.functions() {
					parameter := strings.TrimSuffix(f.id, "Function") + "ReservedConcurrency"
					if !byParameter(tmpl, f.property("ReservedConcurrentExecutions"), parameter) && !tmpl.excused(f.resource, "CKV_AWS_115") {
						found = append(found, f.find("%s: nothing is reserved and no reason given (CKV_AWS_115)", f.id))
					}
					// A flood of GETs must not use up the capacity of purchases and
					// orders.
					if n, ok := tmpl.number(tmpl.at("Parameters", parameter, "Default")); slices.Contains([]string{"purchase", "finalize"}, f.folder()) && (!ok || n == 0) {
						found = append(found, f.find("%s has nothing reserved by default", f.id))
					}
				}
				return found
			},
			breaks: []edit{
				{"Resources/PurchaseFunction/Properties/ReservedConcurrentExecutions", ""},
				{"Resources/FinalizeFunction/Properties/ReservedConcurrentExecutions", "4"},
				{"Parameters/PurchaseReservedConcurrency/Default", "0"},
				{"Parameters/FinalizeReservedConcurrency/Default", "0"},
				{"excuse SeedFunction CKV_AWS_115", ""},
			},
		},
		{
			row:   10,
			name:  "every function behind the API is warmed for the time of a sale, if it is told to, and let go again, or says why not",
			check: warmups,
			breaks: []edit{
				{"Resources/PurchaseWarmup", ""},
				{"excuse PageFunction row 10", ""},
				{"Resources/QueryWarmup/Condition", ""},
				{"Resources/PurchaseWarmup/Properties/ScheduledActions/1", ""},
				{"Resources/PurchaseWarmup/Properties/ScheduledActions/1/ScalableTargetAction/MaxCapacity", "10"},
				{"Resources/PurchaseWarmup/Properties/ResourceId", "!Sub function:${PurchaseFunction}:$LATEST"},
				{"Resources/PurchaseWarmup/Properties/MinCapacity", "1"},
				{"Parameters/PurchaseProvisionedConcurrency/Default", "10"},
				{"Rules/WarmingHasABeginningAndAnEnd", ""},
			},
		},
	})
}

func warmups(tmpl template) (found []finding) {
	for _, f := range tmpl.functions() {
		if len(f.events("HttpApi")) == 0 || tmpl.excused(f.resource, "row 10") {
			continue
		}
		name := strings.TrimSuffix(f.id, "Function")
		r, ok := tmpl.resource("AWS::ApplicationAutoScaling::ScalableTarget", name+"Warmup")
		if !ok || r.at("Condition").text() != "Has"+name+"Warmup" {
			found = append(found, f.find("%s cannot be warmed, or is always", f.id))
			continue
		}
		p, parameter := r.at("Properties"), name+"ProvisionedConcurrency"
		alias := f.property("AutoPublishAlias").text()
		if !slices.Contains(p.at("ResourceId").references(), f.id) || p.at("ResourceId", "1", "2").text() != alias {
			found = append(found, r.find("%s does not warm %s:%s", r.id, f.id, alias))
		}
		warm, cool := p.at("ScheduledActions", "0"), p.at("ScheduledActions", "1")
		if warm.at("Schedule").target() != "WarmFrom" || warm.at("ScalableTargetAction", "MinCapacity").target() != parameter || cool.at("Schedule").target() != "WarmUntil" {
			found = append(found, r.find("%s is not warm from WarmFrom to WarmUntil", r.id))
		}
		for _, n := range []node{p.at("MinCapacity"), p.at("MaxCapacity"), cool.at("ScalableTargetAction", "MinCapacity"), cool.at("ScalableTargetAction", "MaxCapacity"), tmpl.at("Parameters", parameter, "Default")} {
			if n.text() != "0" {
				found = append(found, r.find("%s costs money when there is no sale", r.id))
			}
		}
	}
	rule := tmpl.at("Rules", "WarmingHasABeginningAndAnEnd", "Assertions").references()
	if !slices.Contains(rule, "WarmFrom") || !slices.Contains(rule, "WarmUntil") {
		found = append(found, tmpl.at("Resources").find("warming may have no end"))
	}
	return found
}
