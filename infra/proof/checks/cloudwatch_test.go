package checks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"unicode"
)

// points is a metric's data, or an expression's, by minute; while an alarm is evaluated,
// by period, of which 0 is the latest.
type points map[int]float64

// cloudWatch evaluates alarms by the rules of the CloudWatch user guide: "Using math
// expressions", "Alarm evaluation" and "Configuring how CloudWatch alarms treat missing
// data". It implements the part of metric math that this project's alarms use.
type cloudWatch struct {
	from, to int // the periods of an evaluation, both inclusive
	values   map[string]points
}

// value is an expression's result: a number, a series or a list of series.
type value struct {
	number float64
	series points
	list   []points
}

func (v value) at(minute int) (float64, bool) {
	if v.series == nil {
		return v.number, true
	}
	n, ok := v.series[minute]
	return n, ok
}

// math evaluates an expression; it panics on unsupported ones, which a test reports.
func (c *cloudWatch) math(text string) points {
	p := &mathParser{c: c, tokens: mathTokens(text)}
	v := p.whole()
	if len(p.tokens) > 0 || v.series == nil {
		panic(fmt.Sprintf("%q: no series, or %q left over", text, p.tokens))
	}
	return v.series
}

func mathTokens(text string) (tokens []string) {
	for i := 0; i < len(text); {
		word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' }
		switch {
		case text[i] == ' ':
			i++
		case word(rune(text[i])):
			j := i
			for j < len(text) && word(rune(text[j])) {
				j++
			}
			tokens, i = append(tokens, text[i:j]), j
		case i+1 < len(text) && slices.Contains([]string{">=", "=="}, text[i:i+2]):
			tokens, i = append(tokens, text[i:i+2]), i+2
		default:
			tokens, i = append(tokens, text[i:i+1]), i+1
		}
	}
	return tokens
}

type mathParser struct {
	c      *cloudWatch
	tokens []string
}

func (p *mathParser) next() string {
	if len(p.tokens) == 0 {
		panic("the expression ends too early")
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *mathParser) want(token string) {
	if t := p.next(); t != token {
		panic(fmt.Sprintf("%q stands where %q is wanted", t, token))
	}
}

// binary reads operands of higher precedence, separated by operators of this
// precedence.
func (p *mathParser) binary(operand func() value, operators map[string]func(a, b float64) float64) value {
	left := operand()
	for len(p.tokens) > 0 && operators[p.tokens[0]] != nil {
		apply := operators[p.next()]
		left = p.c.each(apply, left, operand())
	}
	return left
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (p *mathParser) whole() value {
	return p.binary(p.comparison, map[string]func(a, b float64) float64{"AND": func(a, b float64) float64 { return truth(a != 0 && b != 0) }})
}

func (p *mathParser) comparison() value {
	return p.binary(p.sum, map[string]func(a, b float64) float64{
		">=": func(a, b float64) float64 { return truth(a >= b) }, ">": func(a, b float64) float64 { return truth(a > b) },
		"==": func(a, b float64) float64 { return truth(a == b) },
	})
}

func (p *mathParser) sum() value {
	return p.binary(p.product, map[string]func(a, b float64) float64{
		"+": func(a, b float64) float64 { return a + b }, "-": func(a, b float64) float64 { return a - b },
	})
}

func (p *mathParser) product() value {
	return p.binary(p.operand, map[string]func(a, b float64) float64{
		"*": func(a, b float64) float64 { return a * b }, "/": func(a, b float64) float64 { return a / b },
	})
}

func (p *mathParser) operand() value {
	switch t := p.next(); {
	case t == "(":
		v := p.whole()
		p.want(")")
		return v
	case t == "[":
		var v value
		for {
			v.list = append(v.list, p.whole().series)
			if p.tokens[0] == "]" {
				p.next()
				return v
			}
			p.want(",")
		}
	case unicode.IsDigit(rune(t[0])):
		n, err := strconv.ParseFloat(t, 64)
		if err != nil {
			panic(err)
		}
		return value{number: n}
	case len(p.tokens) > 0 && p.tokens[0] == "(":
		return p.call(t)
	default:
		s, ok := p.c.values[t]
		if !ok {
			panic(fmt.Sprintf("no metric has the id %q", t))
		}
		return value{series: s}
	}
}

func (p *mathParser) call(name string) value {
	p.want("(")
	switch name {
	case "METRICS":
		p.want(")")
		var v value
		for _, s := range p.c.values {
			v.list = append(v.list, s)
		}
		return v
	case "FILL":
		of := p.whole()
		p.want(",")
		with := p.next()
		p.want(")")
		if of.series != nil {
			return value{series: p.c.filled(of.series, with)}
		}
		for i := range of.list {
			of.list[i] = p.c.filled(of.list[i], with)
		}
		return of
	case "IF":
		condition := p.whole()
		p.want(",")
		then := p.whole()
		p.want(",")
		otherwise := p.whole()
		p.want(")")
		chosen := points{}
		for m := p.c.from; m <= p.c.to; m++ {
			holds, ok := condition.at(m)
			v := otherwise
			if holds != 0 {
				v = then
			}
			if n, known := v.at(m); ok && known {
				chosen[m] = n
			}
		}
		return value{series: chosen}
	case "SUM", "MAX":
		of := p.whole()
		p.want(")")
		total := points{}
		for _, s := range of.list {
			for m, n := range s {
				old, ok := total[m]
				switch {
				case name == "SUM":
					n += old
				case ok:
					n = max(n, old)
				}
				total[m] = n
			}
		}
		return value{series: total}
	}
	panic("the function " + name + " is not known here")
}

// filled fills gaps of a series with a value, or with the last one before.
func (c *cloudWatch) filled(s points, with string) points {
	out := points{}
	last, known := 0.0, false
	if with != "REPEAT" {
		n, err := strconv.ParseFloat(with, 64)
		if err != nil {
			panic(err)
		}
		last, known = n, true
	}
	for m := c.from; m <= c.to; m++ {
		if n, ok := s[m]; ok {
			out[m] = n
			if with == "REPEAT" {
				last, known = n, true
			}
		} else if known {
			out[m] = last
		}
	}
	return out
}

// each applies an operator minute by minute. If one side has no data, or a division is
// by zero, there is no result.
func (c *cloudWatch) each(apply func(a, b float64) float64, a, b value) value {
	if a.series == nil && b.series == nil {
		return value{number: apply(a.number, b.number)}
	}
	out := points{}
	for m := c.from; m <= c.to; m++ {
		left, ok := a.at(m)
		right, known := b.at(m)
		if n := apply(left, right); ok && known && !math.IsInf(n, 0) && !math.IsNaN(n) {
			out[m] = n
		}
	}
	return value{series: out}
}

// beyond is how many periods more than its evaluation periods an alarm considers when
// data are missing. The guide shows two for alarms of a few periods, and says that the
// number is not fixed.
const beyond = 2

// alarmRule is an alarm as CloudWatch evaluates it, with resolved thresholds.
type alarmRule struct {
	id          string
	period      int
	n, m        int
	threshold   float64
	below       bool // it is on below the threshold
	missing     string
	page        bool
	metrics     map[string]watched // by id
	expressions [][2]string        // id and text, in order; the last one is the result
}

// periods returns a metric's statistic by period. CloudWatch evaluates an alarm every
// minute over a window that slides ("Alarm evaluation window"), so the latest period ends
// with that minute.
func (a alarmRule) periods(w watched, data points, minute int) points {
	length := a.period / 60
	all := map[int][]float64{}
	for m, n := range data {
		if age := (minute - m) / length; m <= minute && age < a.n+beyond {
			all[-age] = append(all[-age], n)
		}
	}
	out := points{}
	for period, figures := range all {
		switch w.stat {
		case "Sum":
			for _, n := range figures {
				out[period] += n
			}
		case "SampleCount": // a scene has one figure a minute
			out[period] = float64(len(figures))
		default: // what an average or a percentile would hide in a longer period counts here
			out[period] = slices.Max(figures)
		}
	}
	return out
}

// result returns the series that the alarm compares, by period.
func (a alarmRule) result(data func(watched) points, minute int) points {
	c := &cloudWatch{from: 1 - a.n - beyond, values: map[string]points{}}
	metrics := map[string]points{}
	for id, w := range a.metrics {
		metrics[id] = a.periods(w, data(w), minute)
		c.values[id] = metrics[id]
	}
	var result points
	for id := range metrics {
		result = metrics[id] // for an alarm on one metric
	}
	for _, e := range a.expressions {
		result = c.math(e[1])
		c.values[e[0]] = result
	}
	return result
}

// rings reports whether the alarm is on after the minute.
func (a alarmRule) rings(data func(watched) points, minute int) bool {
	result := a.result(data, minute)
	var recent []bool // the most recent existing data, whether they breach
	for period := 0; period > -a.n-beyond && len(recent) < a.n; period-- {
		if n, ok := result[period]; ok {
			recent = append(recent, a.below == (n < a.threshold))
		}
	}
	breaching := 0
	for _, b := range recent {
		if b {
			breaching++
		}
	}
	if a.missing == "breaching" {
		breaching += a.n - len(recent)
	}
	return breaching >= a.m
}

// rule reads an alarm of a template.
func (t template) rule(tb testing.TB, r resource) alarmRule {
	tb.Helper()
	p := r.at("Properties")
	number := func(n node) float64 {
		text := n.text()
		switch id := n.target(); id {
		case "":
		case "WriteUnits": // of the parent template
			text = "240000"
		default:
			text = t.at("Parameters", id, "Default").text()
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			tb.Fatalf("%s: %q is no number", r.id, n.Value)
		}
		return f
	}
	a := alarmRule{
		id: r.id, n: int(number(p.at("EvaluationPeriods"))), m: int(number(p.at("EvaluationPeriods"))), threshold: number(p.at("Threshold")),
		missing: p.at("TreatMissingData").text(), metrics: map[string]watched{}, period: 60,
		below: p.at("ComparisonOperator").text() == "LessThanThreshold",
		page:  slices.Contains(p.at("AlarmActions").references(), "PageTopic"),
	}
	if n := p.at("DatapointsToAlarm"); n.Node != nil {
		a.m = int(number(n))
	}
	if p.at("MetricName").Node != nil {
		a.metrics["metric"] = r.watches()[0]
		a.period = int(number(p.at("Period")))
	}
	watches := r.watches()
	for _, m := range p.at("Metrics").list() {
		if m.at("MetricStat").Node == nil {
			a.expressions = append(a.expressions, [2]string{m.at("Id").text(), m.at("Expression").text()})
			continue
		}
		a.period = int(number(m.at("MetricStat", "Period")))
		a.metrics[m.at("Id").text()], watches = watches[0], watches[1:]
	}
	return a
}

func TestMetricMathIsReadAsCloudWatchDoes(t *testing.T) {
	c := &cloudWatch{from: 1, to: 4, values: map[string]points{
		"a": {1: 10, 2: 20, 4: 40}, "b": {2: 5, 3: 0, 4: 4}, "none": {},
	}}
	for text, want := range map[string]points{
		"a + b":                        {2: 25, 4: 44},
		"a / b":                        {2: 4, 4: 10},
		"100 * FILL(b, 0) / a":         {1: 0, 2: 25, 4: 10},
		"FILL(a, REPEAT)":              {1: 10, 2: 20, 3: 20, 4: 40},
		"FILL(b, REPEAT)":              {2: 5, 3: 0, 4: 4},
		"FILL(none, 0)":                {1: 0, 2: 0, 3: 0, 4: 0},
		"FILL(none, REPEAT)":           {},
		"SUM([a, b])":                  {1: 10, 2: 25, 3: 0, 4: 44},
		"MAX([a, b])":                  {1: 10, 2: 20, 3: 0, 4: 40},
		"SUM(FILL(METRICS(), 1))":      {1: 12, 2: 26, 3: 2, 4: 45},
		"IF(a >= 20 AND b == 5, a, 0)": {2: 20, 4: 0},
		"IF(FILL(b, 0) > 4, 1, 0)":     {1: 0, 2: 1, 3: 0, 4: 0},
		"2 - 1 - 1 + a * (1 + 1)":      {1: 20, 2: 40, 4: 80},
	} {
		if got := c.math(text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// The cases are those of the guide's tables for alarms of three periods.
func TestMissingDataAreTreatedAsCloudWatchDoes(t *testing.T) {
	for _, tt := range []struct {
		data    string // 0 is fine, x breaches, - is missing; the last one is the latest
		m       int
		missing string
		want    bool
	}{
		{"0-x-x", 3, "notBreaching", false},
		{"0-x-x", 3, "breaching", false},
		{"0----", 3, "notBreaching", false},
		{"0----", 3, "breaching", false},
		{"-----", 3, "notBreaching", false},
		{"-----", 3, "breaching", true},
		{"0xx-x", 3, "notBreaching", true},
		{"0xx-x", 3, "breaching", true},
		{"--x--", 3, "notBreaching", false},
		{"--x--", 3, "breaching", true},
		{"0-x-x", 2, "notBreaching", true},
		{"00x0x", 2, "notBreaching", true},
		{"0----", 2, "breaching", true},
		{"----x", 2, "notBreaching", false},
		{"-x--x", 2, "notBreaching", true},
	} {
		data := points{}
		for i, c := range tt.data {
			if c != '-' {
				data[i] = truth(c == 'x')
			}
		}
		a := alarmRule{period: 60, n: 3, m: tt.m, threshold: 1, missing: tt.missing, metrics: map[string]watched{"metric": {}}}
		if got := a.rings(func(watched) points { return data }, len(tt.data)-1); got != tt.want {
			t.Errorf("%s, %d of 3, %s: rings is %t, want %t", tt.data, tt.m, tt.missing, got, tt.want)
		}
	}
}

func TestAPeriodOfManyMinutesEndsWithTheMinuteOfTheEvaluation(t *testing.T) {
	data := points{1: 4, 3: 2, 4: 1, 6: 8}
	for _, tt := range []struct {
		stat   string
		minute int
		want   points
	}{
		{"Sum", 6, points{0: 9, -1: 6}},
		{"Sum", 5, points{0: 3, -1: 4}},
		{"Maximum", 6, points{0: 8, -1: 4}},
		{"SampleCount", 6, points{0: 2, -1: 2}},
	} {
		a := alarmRule{period: 180, n: 1}
		if got := a.periods(watched{stat: tt.stat}, data, tt.minute); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s until minute %d: got %v, want %v", tt.stat, tt.minute, got, tt.want)
		}
	}
}
