// Package idle says what a stack costs in a month in which nobody buys, option by
// option.
//
// It counts what the templates declare and adds what runs without buyers:
// ReconcileFunction every minute, and the poller of the order queue. It calls nothing.
package idle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/deploy/demand"
	"flashsale/infra/deploy/price"
)

const (
	hours = 730.0
	// passes are ReconcileFunction's runs. One without a sale takes about a tenth of a
	// second, a read unit and, with Lambda's own, four log lines.
	passes, secondsOfPass, bytesOfPass = 60 * hours, 0.1, 2000.0
	// polls are the empty answers that Lambda's five pollers get of the order queue,
	// one in 20 s each.
	polls = 5 * 3 * 60 * hours
	// RunMetrics are the metrics that ReconcileFunction files whether there is a sale or
	// not, and ReceiptMetrics those that it adds while a sale is not drained.
	RunMetrics, ReceiptMetrics = 1, 7
)

// Stack is what the templates hold.
type Stack struct {
	Alarms, AlarmMetrics           int
	FrontAlarms, FrontAlarmMetrics int
	Dashboards, WebACLRules        int
}

// template is as much of a CloudFormation template as is counted.
type template struct {
	Resources map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			Metrics []struct {
				MetricStat yaml.Node `yaml:"MetricStat"`
			} `yaml:"Metrics"`
			Rules []yaml.Node `yaml:"Rules"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

// count adds up a template's alarms, the metrics that they read, dashboards and rules.
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
			s.Alarms++
			read := 0
			for _, m := range r.Properties.Metrics {
				if !m.MetricStat.IsZero() {
					read++
				}
			}
			s.AlarmMetrics += max(1, read) // without Metrics it names one itself
		case "AWS::CloudWatch::Dashboard":
			s.Dashboards++
		case "AWS::WAFv2::WebACL":
			s.WebACLRules += len(r.Properties.Rules)
		}
	}
	return s, nil
}

// Read counts the template at path and those nested in it.
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
		FrontAlarms: front.Alarms, FrontAlarmMetrics: front.AlarmMetrics,
		Dashboards: own.Dashboards + nested.Dashboards, WebACLRules: front.WebACLRules,
	}, nil
}

// Line is one line of the bill.
type Line struct {
	Option, What string
	Counted      float64
	Price        price.Price
	// On: the parameters ask for it, or every stack has it. What is off costs nothing.
	On bool
}

// Dollars are what the line costs in a month if it is on.
func (l Line) Dollars() float64 { return l.Counted * l.Price.Dollars }

// Bill lists what a stack costs with the parameters of a deployment, and what the options
// that it does not have would cost.
func Bill(s Stack, d demand.Demand, l price.List) []Line {
	value := map[string]string{}
	for _, p := range d.Parameters {
		value[p.Name] = p.Value
	}
	memory, held := 0.0, 0.0
	for _, f := range d.Functions {
		if f.ID == "ReconcileFunction" {
			memory = float64(f.MemoryMB) / 1024
		}
		held += float64(f.Provisioned) * float64(f.MemoryMB) / 1024
	}
	front := value["CreateFront"] == "true"
	ownACL := front && value["FrontWebAclArn"] == ""
	m := l.Month
	lines := []Line{
		{"alarms", fmt.Sprintf("metrics that %d alarms read", s.Alarms), float64(s.AlarmMetrics), m.AlarmMetric, true},
		{"dashboard", "dashboards", float64(s.Dashboards), m.Dashboard, true},
		{"own metrics", "metrics filed without a sale", RunMetrics, m.Metric, true},
		{"own metrics", "more while a sale is not drained, also before it opens", ReceiptMetrics, m.Metric, false},
		{"reconciling", "scheduled runs", passes, m.ScheduleCall, true},
		{"reconciling", "invocations", passes, l.Invocation, true},
		{"reconciling", "GB-seconds", passes * secondsOfPass * memory, l.GBSecond, true},
		{"reconciling", "read units", passes, l.ReadUnit, true},
		{"reconciling", "traces", passes, m.Trace, true},
		{"reconciling", "GB of log lines", passes * bytesOfPass / (1 << 30), l.LogGB, true},
		{"order queue", "empty polls", polls, l.QueueCall, true},
		{"table", "for each GB of claims and orders", 1, m.StoredGB, true},
		{"recovery (PITR)", "for each GB of them", 1, m.RecoveryGB, true},
		{"log storage", "for each GB kept (LogRetentionDays)", 1, m.StoredLogGB, true},
		{"encryption", "keys of yours: none, DynamoDB and SQS use their own", 0, m.Key, true},
		{"user pool", "users who signed in: none", 0, price.Price{Source: "Cognito charges for active users only; their price was not looked up"}, value["CreateUserPool"] == "true"},
		{"front", "web ACLs", 1, m.WebACL, ownACL},
		{"front", "rules of it", float64(s.WebACLRules), m.WebACLRule, ownACL},
		{"front", fmt.Sprintf("metrics that %d alarms read", s.FrontAlarms), float64(s.FrontAlarmMetrics), m.AlarmMetric, front},
	}
	// Environments are provisioned from WarmFrom to WarmUntil, which is no rest.
	return append(lines, Line{"warm environments", "GB-seconds in each hour from WarmFrom to WarmUntil", held * 3600, l.HeldGBSecond, false})
}

// Sum is what is on, in dollars.
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
	fmt.Fprintf(w, "  %-18s %11s  %-54s %9s  with a GB of each kind of storage, without free tiers and what is in brackets\n", "total", "", "a month", fmt.Sprintf("$%.2f", Sum(bill)))
}
