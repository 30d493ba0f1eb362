package scheduler

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // Time zones must not depend on this machine's installation.

	"github.com/hashicorp/cronexpr"
)

// Expression says when a schedule is due.
type Expression interface {
	// Next returns the first due time after the given one, and false when there is none.
	Next(after time.Time) (time.Time, bool)
}

// Parse reads a schedule expression in an IANA time zone: at(yyyy-mm-ddThh:mm:ss),
// rate(value unit) or cron(minutes hours day-of-month month day-of-week year).
func Parse(expression, timezone string) (Expression, error) {
	zone, err := location(timezone)
	if err != nil {
		return nil, err
	}
	kind, rest, _ := strings.Cut(expression, "(")
	body, closed := strings.CutSuffix(rest, ")")
	if closed {
		switch kind {
		case "at":
			return parseAt(body, zone)
		case "rate":
			return parseRate(body)
		case "cron":
			return parseCron(body, zone)
		}
	}
	return nil, fmt.Errorf("parse schedule %q: want at(...), rate(...) or cron(...)", expression)
}

func location(name string) (*time.Location, error) {
	// "Local" and the empty name are valid in Go only.
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("load time zone %q: not an IANA name", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone: %w", err)
	}
	return zone, nil
}

type once time.Time

const atLayout = "2006-01-02T15:04:05"

func parseAt(body string, zone *time.Location) (Expression, error) {
	t, err := time.ParseInLocation(atLayout, body, zone)
	// Go would also accept fractions of a second.
	if err != nil || len(body) != len(atLayout) {
		return nil, fmt.Errorf("parse at(%s): want yyyy-mm-ddThh:mm:ss", body)
	}
	return once(t), nil
}

func (o once) Next(after time.Time) (time.Time, bool) {
	return time.Time(o), time.Time(o).After(after)
}

type every time.Duration

// ratePattern keeps the value short enough for a time.Duration of days.
var ratePattern = regexp.MustCompile(`^([1-9][0-9]{0,4}) +(minute|hour|day)(s?)$`)

func parseRate(body string) (Expression, error) {
	m := ratePattern.FindStringSubmatch(body)
	if m == nil {
		return nil, fmt.Errorf("parse rate(%s): want a positive value and minutes, hours or days", body)
	}
	if (m[1] == "1") != (m[3] == "") {
		return nil, fmt.Errorf("parse rate(%s): the unit is singular for 1 only", body)
	}
	value, err := strconv.Atoi(m[1])
	if err != nil {
		return nil, fmt.Errorf("parse rate(%s): %w", body, err)
	}
	// A day is 24 hours even when the clocks change, as in EventBridge Scheduler.
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]]
	return every(time.Duration(value) * unit), nil
}

func (e every) Next(after time.Time) (time.Time, bool) {
	return after.Add(time.Duration(e)), true
}

// cron is a cron expression with AWS's six fields.
type cron struct {
	zone *time.Location

	// The library modifies a buffer inside the expression.
	mu   sync.Mutex
	expr *cronexpr.Expression
}

// Next computes wall-clock times first and then instants, because of the two rules for
// daylight saving: a time in the skipped hour is left out, and one in the repeated hour
// is used once, the first time.
func (c *cron) Next(after time.Time) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for wall := wallClock(after.In(c.zone)); ; {
		wall = c.expr.Next(wall)
		if wall.IsZero() {
			return time.Time{}, false
		}
		if t, exists := c.instant(wall); exists && t.After(after) {
			return t, true
		}
	}
}

// wallClock returns the wall-clock time of t as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant returns the first instant at which the zone's wall clock shows wall.
func (c *cron) instant(wall time.Time) (time.Time, bool) {
	some := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, c.zone)
	if !wallClock(some).Equal(wall) {
		return time.Time{}, false
	}
	_, before := some.Add(-24 * time.Hour).Zone()
	earlier := wall.Add(-time.Duration(before) * time.Second).In(c.zone)
	if wallClock(earlier).Equal(wall) && earlier.Before(some) {
		return earlier, true
	}
	return some, true
}

// cronField is one of the six fields with AWS's values for it.
type cronField struct {
	name      string
	low, high int
	// names stand for low, low+1, ...
	names []string
	// special matches the items with L, W or #.
	special *regexp.Regexp
	// shift is the difference to the library's numbers.
	shift int
}

var cronFields = []cronField{
	{name: "minutes", low: 0, high: 59},
	{name: "hours", low: 0, high: 23},
	{name: "day-of-month", low: 1, high: 31, special: regexp.MustCompile(`^(L|LW|(?:[1-9]|[12][0-9]|3[01])W)$`)},
	{name: "month", low: 1, high: 12, names: strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
	{name: "day-of-week", low: 1, high: 7, names: strings.Fields("SUN MON TUE WED THU FRI SAT"), shift: -1,
		special: regexp.MustCompile(`^([1-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(L|#[1-5])$`)},
	{name: "year", low: 1970, high: 2099},
}

const (
	dayOfMonth = 2
	dayOfWeek  = 4
)

// parseCron checks every field by AWS's rules and rewrites it for the library, which
// counts days of the week from 0 and differs in what it accepts.
func parseCron(body string, zone *time.Location) (Expression, error) {
	fields := strings.Fields(body)
	if len(fields) != len(cronFields) {
		return nil, fmt.Errorf("parse cron(%s): want six fields, got %d", body, len(fields))
	}
	if (fields[dayOfMonth] == "?") == (fields[dayOfWeek] == "?") {
		return nil, fmt.Errorf("parse cron(%s): exactly one of day-of-month and day-of-week must be ?", body)
	}
	for i, f := range cronFields {
		if fields[i] == "?" && (i == dayOfMonth || i == dayOfWeek) {
			continue
		}
		items := strings.Split(strings.ToUpper(fields[i]), ",")
		for j, item := range items {
			rewritten, ok := f.rewrite(item, len(items) == 1)
			if !ok {
				return nil, fmt.Errorf("parse cron(%s): %q is not valid for %s", body, item, f.name)
			}
			items[j] = rewritten
		}
		fields[i] = strings.Join(items, ",")
	}
	expr, err := cronexpr.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, fmt.Errorf("parse cron(%s): %w", body, err)
	}
	return &cron{zone: zone, expr: expr}, nil
}

// rewrite checks one item of a field's list; alone means that it is the only one.
func (f cronField) rewrite(item string, alone bool) (string, bool) {
	if f.special != nil && f.shift != 0 && item == "L" {
		return strconv.Itoa(f.high + f.shift), alone
	}
	if f.special != nil {
		if m := f.special.FindStringSubmatch(item); m != nil {
			if f.shift == 0 {
				return item, alone
			}
			day, ok := f.value(m[1])
			return strconv.Itoa(day+f.shift) + m[2], ok && alone
		}
	}
	span, step, stepped := strings.Cut(item, "/")
	if stepped {
		n, err := strconv.Atoi(step)
		if err != nil || n < 1 || n > f.high-f.low {
			return "", false
		}
		step = "/" + strconv.Itoa(n)
	}
	if span == "*" {
		return "*" + step, true
	}
	from, to, ranged := strings.Cut(span, "-")
	first, ok := f.value(from)
	if !ok {
		return "", false
	}
	if !ranged {
		return strconv.Itoa(first+f.shift) + step, true
	}
	last, ok := f.value(to)
	if !ok || last < first {
		return "", false
	}
	if last == first {
		// The library interprets 0-0 as the whole week.
		return strconv.Itoa(first + f.shift), true
	}
	return strconv.Itoa(first+f.shift) + "-" + strconv.Itoa(last+f.shift) + step, true
}

func (f cronField) value(text string) (int, bool) {
	for i, name := range f.names {
		if text == name {
			return f.low + i, true
		}
	}
	// At most four digits, and no sign, which Atoi would accept.
	if len(text) == 0 || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.low && n <= f.high
}
