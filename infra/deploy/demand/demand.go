// Package demand reads template.yaml with the parameters of one deployment and
// says what that deployment asks of an account: concurrency, write units,
// throttles, schedules, an issuer.
//
// It evaluates CloudFormation's conditions and references, and SAM's merging of
// Globals, as far as these few properties need them. What is unknown before the
// deployment, such as the address of a user pool that the same deployment
// creates, stays empty. It never calls AWS and judges nothing.
package demand

import (
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Demand is what a deployment asks for. Numbers are 0 where nothing is asked.
type Demand struct {
	Parameters []Parameter
	// Broken are the template's rules for its parameters that do not hold.
	Broken    []string
	Functions []Function // sorted by logical id
	Tables    []Table    // sorted by logical id
	// Rate and Burst are the API's throttles in requests a second and requests:
	// the highest of the default and the routes' own.
	Rate  float64
	Burst int
	// Issuers are those of the JWT authorizers that are known before the
	// deployment.
	Issuers []string
}

// Parameter is one of the template's, with its value.
type Parameter struct {
	Name, Value string
	Missing     bool // it has no default and was given no value
	// Kept says that it must not be shown and was not given: the stack keeps the
	// value that it has, which nobody here knows.
	Kept    bool
	Problem string // why CloudFormation would refuse the value, or empty
}

// Function is one function of the template.
type Function struct {
	ID                    string // logical
	Timeout               int    // seconds
	MemoryMB              int
	Reserved, Provisioned int // concurrent executions
	// Settings is a digest of what a published version holds beside its code, and
	// FingerprintParameter the parameter that must change for one to be published.
	Settings, FingerprintParameter string
	Sources                        []Source
	Schedules                      []Schedule
	// Warming are the scheduled changes of its provisioned concurrency.
	Warming []Warming
}

// Warming is a change of provisioned concurrency.
type Warming struct {
	Name, Expression, Timezone string
	Environments               int
}

// Source is a queue that a function takes messages from.
type Source struct {
	Queue                              string // logical id
	Visibility, Window, MaxConcurrency int    // seconds, seconds, executions
}

// Schedule is one that invokes a function.
type Schedule struct {
	Name, Expression, Timezone, Input string
	Enabled                           bool
}

// Table is one table, with its capacity in write units a second.
type Table struct {
	ID                   string // logical
	WarmWrites, MaxWrite int
}

// Read reads the template at path with the parameters given. Unknown names among
// them are in the result as parameters with a problem.
//
// The region is the one to deploy to; empty if that is not known.
func Read(path, region string, parameters map[string]string) (Demand, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Demand{}, fmt.Errorf("read template: %w", err)
	}
	return Parse(text, region, parameters)
}

// Parse is Read on a template's text.
func Parse(text []byte, region string, parameters map[string]string) (Demand, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return Demand{}, fmt.Errorf("parse template: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return Demand{}, fmt.Errorf("parse template: it is no mapping")
	}
	top := document.Content[0]
	t := &template{values: map[string]string{}, known: map[string]bool{}, conditions: member(top, "Conditions"), resources: member(top, "Resources")}
	d := Demand{Parameters: t.read(member(top, "Parameters"), parameters)}
	if region != "" {
		t.values["AWS::Region"] = region
	}
	d.Broken = t.broken(member(top, "Rules"))
	for _, id := range t.existing("AWS::Serverless::Function") {
		d.Functions = append(d.Functions, t.function(id, t.value(member(member(top, "Globals"), "Function"))))
	}
	for _, id := range t.existing("AWS::DynamoDB::Table") {
		p := t.properties(id)
		d.Tables = append(d.Tables, Table{
			ID:         id,
			WarmWrites: t.number(p, "WarmThroughput", "WriteUnitsPerSecond"),
			MaxWrite:   t.number(p, "OnDemandThroughput", "MaxWriteRequestUnits"),
		})
	}
	for _, id := range t.existing("AWS::Serverless::HttpApi") {
		t.api(id, &d)
	}
	return d, nil
}

func (t *template) function(id string, global *yaml.Node) Function {
	p := t.properties(id)
	own := func(path ...string) int {
		if n := t.number(p, path...); n != 0 {
			return n
		}
		return t.number(global, path...)
	}
	f := Function{
		ID: id, Timeout: own("Timeout"), MemoryMB: own("MemorySize"), Reserved: own("ReservedConcurrentExecutions"),
		Provisioned: own("ProvisionedConcurrencyConfig", "ProvisionedConcurrentExecutions"),
	}
	f.Settings, f.FingerprintParameter = t.settings(id, global), target(member(p, "AutoPublishCodeSha256"))
	// Lambda's defaults.
	if f.Timeout == 0 {
		f.Timeout = 3
	}
	if f.MemoryMB == 0 {
		f.MemoryMB = 128
	}
	f.Warming = t.warming(id)
	for _, w := range f.Warming {
		f.Provisioned = max(f.Provisioned, w.Environments)
	}
	for name, event := range pairs(t.value(member(p, "Events"))) {
		e := t.value(member(event, "Properties"))
		switch t.text(event, "Type") {
		case "SQS":
			queue := target(member(e, "Queue"))
			f.Sources = append(f.Sources, Source{
				Queue: queue, Visibility: t.visibility(queue), Window: t.number(e, "MaximumBatchingWindowInSeconds"),
				MaxConcurrency: t.number(e, "ScalingConfig", "MaximumConcurrency"),
			})
		case "ScheduleV2":
			f.Schedules = append(f.Schedules, Schedule{
				Name: id + name, Expression: t.text(e, "ScheduleExpression"), Input: t.text(e, "Input"),
				Timezone: or(t.text(e, "ScheduleExpressionTimezone"), "UTC"), Enabled: t.text(e, "State") != "DISABLED",
			})
		}
	}
	return f
}

// visibility is a queue's, in seconds; SQS has 30 where the template has none.
func (t *template) visibility(queue string) int {
	if n := t.number(t.properties(queue), "VisibilityTimeout"); n != 0 {
		return n
	}
	return 30
}

// warming are the scheduled actions of the scaling targets that name the function.
func (t *template) warming(function string) []Warming {
	var all []Warming
	for _, id := range t.existing("AWS::ApplicationAutoScaling::ScalableTarget") {
		p := t.properties(id)
		if !slices.Contains(mentioned(member(p, "ResourceId")), function) {
			continue
		}
		for _, action := range items(t.value(member(p, "ScheduledActions"))) {
			a := t.value(action)
			all = append(all, Warming{
				Name: t.text(a, "ScheduledActionName"), Expression: t.text(a, "Schedule"), Timezone: or(t.text(a, "Timezone"), "UTC"),
				Environments: t.number(a, "ScalableTargetAction", "MinCapacity"),
			})
		}
	}
	return all
}

func (t *template) api(id string, d *Demand) {
	p := t.properties(id)
	settings := []*yaml.Node{t.value(member(p, "DefaultRouteSettings"))}
	for _, route := range pairs(t.value(member(p, "RouteSettings"))) {
		settings = append(settings, t.value(route))
	}
	for _, s := range settings {
		d.Rate = max(d.Rate, t.decimal(s, "ThrottlingRateLimit"))
		d.Burst = max(d.Burst, t.number(s, "ThrottlingBurstLimit"))
	}
	for _, authorizer := range pairs(t.value(member(t.value(member(p, "Auth")), "Authorizers"))) {
		jwt := t.value(member(t.value(authorizer), "JwtConfiguration"))
		if issuer := t.text(jwt, "issuer"); issuer != "" {
			d.Issuers = append(d.Issuers, issuer)
		}
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
