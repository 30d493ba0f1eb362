package template

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

type parameter struct {
	key  *yaml.Node
	text string
}

func (r *reader) readParameters(section value) {
	var missing []string
	for _, f := range section.fields() {
		p := &parameter{key: f.name}
		kind := f.need("Type").text("")
		if kind != "String" && kind != "Number" {
			f.get("Type").fail("only the types String and Number run locally")
		}
		override, overridden := r.o.Parameters[f.key]
		standard := f.get("Default")
		switch {
		case overridden:
			p.text = override
		case standard.absent():
			missing = append(missing, f.key)
		default:
			p.text = standard.text("")
		}
		r.parameters[f.key] = p
		if overridden || !standard.absent() {
			r.constrain(f, kind, p)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		r.fail(r.parameters[missing[0]].key, "", "parameters without a value: %s", strings.Join(missing, ", "))
	}
	var strange []string
	for name := range r.o.Parameters {
		if r.parameters[name] == nil {
			strange = append(strange, name)
		}
	}
	if len(strange) > 0 {
		slices.Sort(strange)
		r.fail(nil, "", "the template has no parameter %s", strings.Join(strange, ", "))
	}
}

// constrain checks a parameter's value the way CloudFormation does before it deploys anything.
func (r *reader) constrain(f field, kind string, p *parameter) {
	v, problem := p.text, ""
	if kind == "Number" {
		problem = outOfRange(f, v)
	} else {
		length := utf8.RuneCountInString(v)
		if low := f.get("MinLength"); !low.absent() && length < low.number(0) {
			problem = fmt.Sprintf("is shorter than %s", low.text(""))
		}
		if high := f.get("MaxLength"); !high.absent() && length > high.number(0) {
			problem = fmt.Sprintf("is longer than %s", high.text(""))
		}
		if pattern := f.get("AllowedPattern"); !pattern.absent() {
			// CloudFormation matches the whole value.
			re, err := regexp.Compile(`^(?:` + pattern.text("") + `)$`)
			if err != nil {
				pattern.fail("%v", err)
			} else if !re.MatchString(v) && (slices.Contains(r.o.Strict, f.key) || !re.MatchString(overTLS(v))) {
				problem = fmt.Sprintf("does not match %s", pattern.text(""))
			}
		}
	}
	if allowed := f.get("AllowedValues"); !allowed.absent() && !slices.Contains(allowed.texts(), v) {
		problem = fmt.Sprintf("is not one of %s", strings.Join(allowed.texts(), ", "))
	}
	if problem == "" {
		return
	}
	if description := f.get("ConstraintDescription").text(""); description != "" {
		problem += " (" + description + ")"
	}
	shown := strconv.Quote(v)
	if f.get("NoEcho").text("") == "true" {
		shown = "the value"
	}
	f.fail("%s %s", shown, problem)
}

// overTLS returns a loopback http URL as https: see Options.Strict.
func overTLS(v string) string {
	if u, err := url.Parse(v); err == nil && u.Scheme == "http" && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) {
		return "https" + strings.TrimPrefix(v, "http")
	}
	return v
}

func outOfRange(f field, v string) string {
	number, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return "is not a number"
	}
	bound := func(key string) (float64, bool) {
		b := f.get(key)
		if b.absent() {
			return 0, false
		}
		limit, err := strconv.ParseFloat(b.text(""), 64)
		if err != nil {
			b.fail("must be a number")
			return 0, false
		}
		return limit, true
	}
	if low, ok := bound("MinValue"); ok && number < low {
		return fmt.Sprintf("is below %v", low)
	}
	if high, ok := bound("MaxValue"); ok && number > high {
		return fmt.Sprintf("is above %v", high)
	}
	return ""
}
