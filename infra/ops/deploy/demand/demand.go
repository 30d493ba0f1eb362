// Package demand reads template.yaml with the parameters of one deployment and returns what
// the deployment needs from an account: concurrency, write units, throttles, schedules, an
// issuer.
//
// It evaluates CloudFormation's conditions and references and SAM's merging of Globals as far
// as these properties need them. Values that are unknown before the deployment, such as the
// address of a user pool that it creates, stay empty. It never calls AWS and does not decide
// whether the demand can be met.
package demand

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Demand is what a deployment needs. Numbers are 0 where it needs nothing.
type Demand struct {
	Parameters []Parameter
	// Broken lists the template's parameter rules that do not hold.
	Broken    []string
	Functions []Function // sorted by logical id
	Tables    []Table    // sorted by logical id
	// Rate and Burst are the API's throttles in requests per second and in requests: the
	// maximum of the default and of all routes.
	Rate  float64
	Burst int
	// TotalRate is the sum of the routes' throttles, with each parameter counted once:
	// routes with the same parameter expect its requests together.
	TotalRate float64
	// Issuers are the JWT authorizers' issuers that are known before the deployment.
	Issuers []string
}

// Parameter is a parameter of the template with its value.
type Parameter struct {
	Name, Value string
	Missing     bool // it has neither a default nor a given value
	// Kept is true for a NoEcho parameter without a given value: the stack keeps its value,
	// which is unknown here.
	Kept    bool
	Problem string // why CloudFormation would refuse the value, or empty
}

// Function is one function of the template.
type Function struct {
	ID                    string // logical
	Timeout               int    // seconds
	MemoryMB              int
	Reserved, Provisioned int // concurrent executions
	// Settings is a digest of everything in a published version except its code.
	// FingerprintParameter is the parameter that must change for a version to be published.
	Settings, FingerprintParameter string
	Sources                        []Source
	Schedules                      []Schedule
	// Warming lists the scheduled changes of the function's provisioned concurrency.
	Warming []Warming
}

// Warming is a scheduled change of provisioned concurrency.
type Warming struct {
	Name, Expression, Timezone string
	Environments               int
}

// Source is a queue that a function reads.
type Source struct {
	Queue                              string // logical id
	Visibility, Window, MaxConcurrency int    // seconds, seconds, executions
}

// Schedule is a schedule that invokes a function.
type Schedule struct {
	Name, Expression, Timezone, Input string
	Enabled                           bool
}

// Table is a table with its capacity in read or write units per second.
type Table struct {
	ID                              string // logical
	WarmReads, WarmWrites, MaxWrite int
	// Settings is a digest of the table's properties.
	Settings string
}

// Read reads the template at path with the given parameters. Unknown names among them are
// returned as parameters with a Problem.
//
// The region is the target of the deployment; empty if unknown.
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
		return Demand{}, fmt.Errorf("parse template: it is not a mapping")
	}
	top := document.Content[0]
	t := &template{values: map[string]string{}, kept: map[string]bool{}, known: map[string]bool{}, conditions: member(top, "Conditions"), resources: member(top, "Resources")}
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
			WarmReads:  t.number(p, "WarmThroughput", "ReadUnitsPerSecond"),
			WarmWrites: t.number(p, "WarmThroughput", "WriteUnitsPerSecond"),
			MaxWrite:   t.number(p, "OnDemandThroughput", "MaxWriteRequestUnits"),
			Settings:   t.settings(id, nil),
		})
	}
	for _, id := range t.existing("AWS::Serverless::HttpApi") {
		t.api(id, &d)
	}
	t.rawIssuers(&d)
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

// visibility returns a queue's visibility timeout in seconds; SQS's default is 30.
func (t *template) visibility(queue string) int {
	if n := t.number(t.properties(queue), "VisibilityTimeout"); n != 0 {
		return n
	}
	return 30
}

// warming returns the scheduled actions of the function's scaling targets.
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
	counted := map[string]bool{}
	for _, s := range settings {
		rate, parameter := t.decimal(s, "ThrottlingRateLimit"), strings.Join(mentioned(member(s, "ThrottlingRateLimit")), " ")
		d.Rate = max(d.Rate, rate)
		if parameter == "" || !counted[parameter] {
			counted[parameter] = true
			d.TotalRate += rate
		}
		d.Burst = max(d.Burst, t.number(s, "ThrottlingBurstLimit"))
	}
	for _, authorizer := range pairs(t.value(member(t.value(member(p, "Auth")), "Authorizers"))) {
		jwt := t.value(member(t.value(authorizer), "JwtConfiguration"))
		if issuer := t.text(jwt, "issuer"); issuer != "" {
			d.Issuers = append(d.Issuers, issuer)
		}
	}
}

// rawIssuers adds the issuers of the authorizers that are resources of their own.
func (t *template) rawIssuers(d *Demand) {
	for _, id := range t.existing("AWS::ApiGatewayV2::Authorizer") {
		if issuer := t.text(t.value(member(t.properties(id), "JwtConfiguration")), "Issuer"); issuer != "" {
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
