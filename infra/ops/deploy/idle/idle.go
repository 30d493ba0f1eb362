// Package idle computes the cost of a stack in a month without buyers, by option.
//
// It counts the resources in the templates and adds what runs without buyers:
// ReconcileFunction and ReleaseFunction every minute and the poller of the order queue. It does not call AWS.
package idle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/ops/deploy/demand"
	"flashsale/infra/ops/deploy/price"
)

const (
	hours = 730.0
	// passes is the number of runs a month of ReconcileFunction, and of ReleaseFunction. A
	// run without a sale takes about a tenth of a second, two read units (releasing one) and
	// four log lines, including Lambda's.
	passes, secondsOfPass, bytesOfPass = 60 * hours, 0.1, 2000.0
	// polls is the number of empty answers a month that Lambda's five pollers get from the
	// order queue, each one every 20 s.
	polls = 5 * 3 * 60 * hours
	// RunMetrics is the number of metrics that the two always publish, ReceiptMetrics the
	// number that they add while a sale is not drained, and PaymentMetrics the number that
	// they add to those while one that asks for payment is not.
	RunMetrics, ReceiptMetrics, PaymentMetrics = 2, 7, 6
	// EventMetrics is the number of metrics that PublishFunction publishes while nothing
	// fails: it is invoked every minute while a sale is not drained, by what reconciling
	// writes into its listing.
	EventMetrics = 5
)

// Stack counts the resources in the templates.
type Stack struct {
	Alarms, AlarmMetrics           int
	EventAlarms, EventAlarmMetrics int // of order events
	FrontAlarms, FrontAlarmMetrics int
	Dashboards, WebACLRules        int
}

// template is the part of a CloudFormation template that is counted.
type template struct {
	Resources map[string]struct {
		Type       string `yaml:"Type"`
		Condition  string `yaml:"Condition"`
		Properties struct {
			Metrics []struct {
				MetricStat yaml.Node `yaml:"MetricStat"`
			} `yaml:"Metrics"`
			Rules []yaml.Node `yaml:"Rules"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

// count counts a template's alarms, the metrics that they read, its dashboards and rules.
func count(path string) (s Stack, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("count resources: %w", err)
	}
	var t template
	if err := yaml.Unmarshal(text, &t); err != nil {
		return s, fmt.Errorf("count resources of %s: %w", path, err)
	}
	for _, r := range t.Resources {
		switch r.Type {
		case "AWS::CloudWatch::Alarm":
			read := 0
			for _, m := range r.Properties.Metrics {
				if !m.MetricStat.IsZero() {
					read++
				}
			}
			read = max(1, read) // without Metrics, the alarm itself names one
			if r.Condition == "HasEvents" {
				s.EventAlarms, s.EventAlarmMetrics = s.EventAlarms+1, s.EventAlarmMetrics+read
			} else {
				s.Alarms, s.AlarmMetrics = s.Alarms+1, s.AlarmMetrics+read
			}
		case "AWS::CloudWatch::Dashboard":
			s.Dashboards++
		case "AWS::WAFv2::WebACL":
			s.WebACLRules += len(r.Properties.Rules)
		}
	}
	return s, nil
}

// Read counts the resources of the template at path and of its nested templates.
func Read(path string) (Stack, error) {
	var all [3]Stack
	for i, file := range []string{filepath.Base(path), "infra/alarms.yaml", "infra/front.yaml"} {
		s, err := count(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			return Stack{}, err
		}
		all[i] = s
	}
	own, nested, front := all[0], all[1], all[2]
	return Stack{
		Alarms: own.Alarms + nested.Alarms, AlarmMetrics: own.AlarmMetrics + nested.AlarmMetrics,
		EventAlarms: own.EventAlarms + nested.EventAlarms, EventAlarmMetrics: own.EventAlarmMetrics + nested.EventAlarmMetrics,
		FrontAlarms: front.Alarms, FrontAlarmMetrics: front.AlarmMetrics,
		Dashboards: own.Dashboards + nested.Dashboards, WebACLRules: front.WebACLRules,
	}, nil
}

// Line is one line of the bill.
type Line struct {
	Option, What string
	Counted      float64
	Price        price.Price
	// On is true if the parameters enable it or every stack has it. Other lines cost nothing.
	On bool
}

// Dollars returns the line's monthly cost if it is on.
func (l Line) Dollars() float64 { return l.Counted * l.Price.Dollars }

// Bill lists the costs of a stack with the parameters of a deployment, and the costs of the
// options that are off.
func Bill(s Stack, d demand.Demand, l price.List) []Line {
	value := map[string]string{}
	for _, p := range d.Parameters {
		value[p.Name] = p.Value
	}
	memory, held := 0.0, 0.0
	for _, f := range d.Functions {
		if f.ID == "ReconcileFunction" { // ReleaseFunction has as much
			memory = float64(f.MemoryMB) / 1024
		}
		held += float64(f.Provisioned) * float64(f.MemoryMB) / 1024
	}
	front := value["CreateFront"] == "true"
	ownACL := front && value["FrontWebAclArn"] == ""
	events := value["PublishEvents"] == "true"
	// A front has an OriginSecret.
	secrets := value["CreateFront"] != "false" || value["StripeKeysArn"]+value["StandardWebhooksKeysArn"] != ""
	m := l.Month
	lines := []Line{
		{"alarms", fmt.Sprintf("metrics that %d alarms read", s.Alarms), float64(s.AlarmMetrics), m.AlarmMetric, true},
		{"dashboard", "dashboards", float64(s.Dashboards), m.Dashboard, true},
		{"own metrics", "metrics published without a sale", RunMetrics, m.Metric, true},
		{"own metrics", "more metrics while a sale is not drained, even unopened", ReceiptMetrics, m.Metric, false},
		{"own metrics", "more while one that asks for payment is not drained", PaymentMetrics, m.Metric, false},
		{"order queue", "empty polls", polls, l.QueueCall, true},
		{"table", "for each GB of claims and orders", 1, m.StoredGB, true},
		{"recovery (PITR)", "for each GB of claims and orders", 1, m.RecoveryGB, true},
		{"log storage", "for each GB kept (LogRetentionDays)", 1, m.StoredLogGB, true},
		{"encryption", "KMS keys, of environments with secrets", 1, m.Key, secrets},
		{"user pool", "users who signed in: none", 0, price.Price{Source: "Cognito charges for active users only; their price was not looked up"}, value["CreateUserPool"] == "true"},
		{"order events", fmt.Sprintf("metrics that %d alarms read", s.EventAlarms), float64(s.EventAlarmMetrics), m.AlarmMetric, events},
		{"order events", "events; bus, stream and its reads by Lambda are free", 0, l.Event, events},
		{"order events", "more metrics while a sale is not drained", EventMetrics, m.Metric, false},
		{"front", "web ACLs", 1, m.WebACL, ownACL},
		{"front", "rules of the web ACL", float64(s.WebACLRules), m.WebACLRule, ownACL},
		{"front", fmt.Sprintf("metrics that %d alarms read", s.FrontAlarms), float64(s.FrontAlarmMetrics), m.AlarmMetric, front},
	}
	reads := map[string]float64{"reconciling": 2, "releasing": 1}
	for _, option := range []string{"reconciling", "releasing"} {
		lines = append(lines,
			Line{option, "scheduled runs", passes, m.ScheduleCall, true},
			Line{option, "invocations", passes, l.Invocation, true},
			Line{option, "GB-seconds", passes * secondsOfPass * memory, l.GBSecond, true},
			Line{option, "read units", passes * reads[option], l.ReadUnit, true},
			Line{option, "traces", passes, m.Trace, true},
			Line{option, "GB of log lines", passes * bytesOfPass / (1 << 30), l.LogGB, true})
	}
	// Environments are provisioned only from WarmFrom to WarmUntil, so this line is off.
	return append(lines, Line{"warm environments", "GB-seconds in each hour from WarmFrom to WarmUntil", held * 3600, l.HeldGBSecond, false})
}

// Sum is the total of the lines that are on, in dollars.
func Sum(bill []Line) float64 {
	total := 0.0
	for _, l := range bill {
		if l.On {
			total += l.Dollars()
		}
	}
	return total
}

// Print writes the bill as a table.
func Print(w io.Writer, bill []Line) {
	for _, l := range bill {
		dollars := fmt.Sprintf("$%.2f", l.Dollars())
		if !l.On {
			dollars = fmt.Sprintf("($%.2f)", l.Dollars())
		}
		fmt.Fprintf(w, "  %-18s %11.1f  %-54s %9s  %s %s\n", l.Option, l.Counted, l.What, dollars, l.Price.Source, l.Price.Read)
	}
	fmt.Fprintf(w, "  %-18s %11s  %-54s %9s  with a GB of each kind of storage, without free tiers; figures in brackets are not included\n", "total", "", "a month", fmt.Sprintf("$%.2f", Sum(bill)))
}
