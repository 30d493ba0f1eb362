package scheduler

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // Time zones must not depend on this machine's installation.
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
