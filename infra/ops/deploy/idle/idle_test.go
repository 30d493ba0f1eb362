package idle

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/ops/deploy/demand"
	"flashsale/infra/ops/deploy/price"
)

const root = "../../../.."

func stack(t *testing.T) Stack {
	t.Helper()
	s, err := Read(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// matches counts the matches of a pattern in a file of the project.
func matches(t *testing.T, file, pattern string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return len(regexp.MustCompile(pattern).FindAllString(string(text), -1))
}

// A text search in the templates must give the same counts.
func TestTheTemplatesResourcesAreCounted(t *testing.T) {
	s := stack(t)
	alarms := func(file string) int { return matches(t, file, `Type: AWS::CloudWatch::Alarm`) }
	read := func(file string) int {
		return matches(t, file, `MetricStat:`) + matches(t, file, `(?m)^      MetricName: `)
	}
	ofEvents := func(file string) int {
		return matches(t, file, `Type: AWS::CloudWatch::Alarm\n    Condition: HasEvents`)
	}
	// Two alarms of order events read two metrics, the others one.
	const pairs = 2
	events := ofEvents("template.yaml") + ofEvents("infra/alarms.yaml")
	want := Stack{
		Alarms: alarms("template.yaml") + alarms("infra/alarms.yaml") - events, AlarmMetrics: read("template.yaml") + read("infra/alarms.yaml") - events - pairs,
		EventAlarms: events, EventAlarmMetrics: events + pairs,
		FrontAlarms: alarms("infra/front.yaml"), FrontAlarmMetrics: read("infra/front.yaml"),
		Dashboards: 1, WebACLRules: matches(t, "infra/front.yaml", `(?m)^          Priority: `),
	}
	if s != want || s.Alarms < 20 || s.AlarmMetrics < 60 || s.WebACLRules < 4 {
		t.Errorf("counted %+v, want %+v", s, want)
	}
}

func bill(t *testing.T, parameters map[string]string) []Line {
	t.Helper()
	d, err := demand.Read(filepath.Join(root, "template.yaml"), "us-east-1", parameters)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := price.Find("us-east-1", price.Architecture)
	return Bill(stack(t), d, l)
}

// dollars returns the cost of an option and whether any of its lines is on.
func dollars(bill []Line, option string) (sum float64, on bool) {
	for _, l := range bill {
		if l.Option == option {
			sum, on = sum+l.Dollars(), on || l.On
		}
	}
	return sum, on
}

func TestEachOptionIsPaidForOnlyWhereItIsOn(t *testing.T) {
	s := stack(t)
	without, with := bill(t, nil), bill(t, map[string]string{"CreateFront": "true", "PurchaseProvisionedConcurrency": "700"})
	front, on := dollars(with, "front")
	const key = 1.00 // of the environments with the front's secret
	if want := 5 + float64(s.WebACLRules) + 0.10*float64(s.FrontAlarmMetrics); !on || math.Abs(front-want) > 1e-9 || math.Abs(Sum(with)-Sum(without)-want-key) > 1e-9 {
		t.Errorf("the front costs $%.2f (on: %t), the total is $%.2f with it and $%.2f without, want $%.2f more and the key", front, on, Sum(with), Sum(without), want)
	}
	own := bill(t, map[string]string{"CreateFront": "true", "FrontWebAclArn": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b"})
	if got, want := Sum(own)-Sum(without), key+0.10*float64(s.FrontAlarmMetrics); math.Abs(got-want) > 1e-9 {
		t.Errorf("with a web ACL that was there before, the front costs $%.2f, want its alarms' and the key's $%.2f", got, want)
	}
	published := bill(t, map[string]string{"PublishEvents": "true"})
	if got, want := Sum(published)-Sum(without), 0.10*float64(s.EventAlarmMetrics); math.Abs(got-want) > 1e-9 || s.EventAlarms == 0 {
		t.Errorf("order events cost $%.2f at rest, want their alarms' $%.2f", got, want)
	}
	if warm, on := dollars(with, "warm environments"); on || math.Abs(warm-700*0.5*3600*0.0000033334) > 1e-9 {
		t.Errorf("700 warm environments cost $%.2f an hour (on: %t)", warm, on)
	}
	signed := bill(t, map[string]string{"StripeKeysArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:s"})
	for name, want := range map[string]bool{"no secret": false, "a front": true, "signing secrets": true} {
		of := map[string][]Line{"no secret": without, "a front": with, "signing secrets": signed}[name]
		if cost, on := dollars(of, "encryption"); cost != key || on != want {
			t.Errorf("with %s a key costs $%.2f (on: %t)", name, cost, on)
		}
	}
	if alarms, on := dollars(without, "alarms"); !on || math.Abs(alarms-0.10*float64(s.AlarmMetrics)) > 1e-9 {
		t.Errorf("%d metrics that alarms read cost $%.2f", s.AlarmMetrics, alarms)
	}
}

func TestEveryLineNamesItsPricesSource(t *testing.T) {
	var w strings.Builder
	all := bill(t, nil)
	Print(&w, all)
	if lines := strings.Split(strings.TrimSpace(w.String()), "\n"); len(lines) != len(all)+1 || !strings.Contains(lines[len(all)], "total") {
		t.Errorf("%d lines for %d and a total:\n%s", len(lines), len(all), &w)
	}
	for _, l := range all {
		if l.Price.Source == "" || !strings.Contains(w.String(), l.Price.Source+" "+l.Price.Read) {
			t.Errorf("%s, %s: no source", l.Option, l.What)
		}
	}
}

var row = regexp.MustCompile(`(?m)^\| ([a-z ()A-Z]+) \| \$([0-9.]+) \|`)

func TestTheDocumentsBillMatchesThePrintedOne(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "infra", "docs", "DEPLOYING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Costs at rest")
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		documented[m[1]] = m[2]
	}
	printed := map[string]string{}
	for _, l := range bill(t, map[string]string{"CreateUserPool": "true", "CreateFront": "true", "PublishEvents": "true"}) {
		if l.Option == "warm environments" || !l.On {
			continue
		}
		sum := 0.0
		for _, other := range bill(t, map[string]string{"CreateUserPool": "true", "CreateFront": "true", "PublishEvents": "true"}) {
			if other.Option == l.Option && other.On {
				sum += other.Dollars()
			}
		}
		printed[l.Option] = strconv.FormatFloat(sum, 'f', 2, 64)
	}
	if diff := cmp.Diff(printed, documented); diff != "" {
		t.Errorf("DEPLOYING.md, Costs at rest (-printed +documented):\n%s", diff)
	}
}
