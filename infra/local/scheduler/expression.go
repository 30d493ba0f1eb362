package scheduler

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/cronexpr"
)

type Expression interface {
	// Next returns the first due time after the given one, and false when there is none.
	Next(after time.Time) (time.Time, bool)
}

// Parse reads a schedule expression in UTC: at(yyyy-mm-ddThh:mm:ss), rate(value unit) or
// cron(minutes hours day-of-month month day-of-week year).
func Parse(expression string) (Expression, error) {
	kind, rest, _ := strings.Cut(expression, "(")
	body, closed := strings.CutSuffix(rest, ")")
	if closed {
		switch kind {
		case "at":
			return parseAt(body)
		case "rate":
			return parseRate(body)
		case "cron":
			return parseCron(body)
		}
	}
	return nil, fmt.Errorf("parse schedule %q: want at(...), rate(...) or cron(...)", expression)
}

type once time.Time

const atLayout = "2006-01-02T15:04:05"

func parseAt(body string) (Expression, error) {
	t, err := time.Parse(atLayout, body)
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
	if m == nil || (m[1] == "1") != (m[3] == "") {
		return nil, fmt.Errorf("parse rate(%s): want a positive value and minutes, hours or days, singular for 1 only", body)
	}
	value, _ := strconv.Atoi(m[1]) // it has digits only
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]]
	return every(time.Duration(value) * unit), nil
}

func (e every) Next(after time.Time) (time.Time, bool) {
	return after.Add(time.Duration(e)), true
}

// cron is a cron expression with AWS's six fields.
type cron struct{ expr *cronexpr.Expression }

func (c cron) Next(after time.Time) (time.Time, bool) {
	next := c.expr.Next(after.UTC())
	return next, !next.IsZero()
}

const (
	dayOfMonth = 2
	dayOfWeek  = 4
)

var (
	weekdays = strings.NewReplacer("SUN", "1", "MON", "2", "TUE", "3", "WED", "4", "THU", "5", "FRI", "6", "SAT", "7")
	// span is what a field's list may have; special is what may stand alone in a field of days.
	span    = regexp.MustCompile(`^(?:\*|(\d{1,4}|[A-Z]{3})(?:-(\d{1,4}|[A-Z]{3}))?)(?:/\d{1,4})?$`)
	special = map[int]*regexp.Regexp{
		dayOfMonth: regexp.MustCompile(`^(\?|L|LW|\d{1,2}W)$`), dayOfWeek: regexp.MustCompile(`^(\?|L|\d(L|#[1-5]))$`),
	}
	// weekday is a number of a day, not that of a step or a week.
	weekday = regexp.MustCompile(`(^|[,-])(\d+)`)
)

// parseCron refuses what the library accepts and AWS does not, and rewrites the days of the week,
// which the library counts from 0. The library checks the values.
func parseCron(body string) (Expression, error) {
	fields := strings.Fields(strings.ToUpper(body))
	if len(fields) != 6 || (fields[dayOfMonth] == "?") == (fields[dayOfWeek] == "?") {
		return nil, fmt.Errorf("parse cron(%s): want six fields, and ? for exactly one of day-of-month and day-of-week", body)
	}
	fields[dayOfWeek] = weekdays.Replace(fields[dayOfWeek])
	for i, field := range fields {
		if s := special[i]; s != nil && s.MatchString(field) {
			continue
		}
		for item := range strings.SplitSeq(field, ",") {
			m := span.FindStringSubmatch(item)
			if m == nil {
				return nil, fmt.Errorf("parse cron(%s): %q is not valid", body, item)
			}
			first, notFirst := strconv.Atoi(m[1])
			last, notLast := strconv.Atoi(m[2])
			if notFirst == nil && notLast == nil && last <= first {
				return nil, fmt.Errorf("parse cron(%s): the range %q does not go up", body, item)
			}
		}
	}
	if fields[dayOfWeek] == "L" {
		fields[dayOfWeek] = "7"
	}
	fields[dayOfWeek] = weekday.ReplaceAllStringFunc(fields[dayOfWeek], func(day string) string {
		before := strings.TrimRight(day, "0123456789")
		n, err := strconv.Atoi(strings.TrimPrefix(day, before))
		if err != nil || n < 1 || n > 7 {
			return "no day"
		}
		return before + strconv.Itoa(n-1)
	})
	expr, err := cronexpr.Parse(strings.Join(fields, " "))
	if err != nil {
		return nil, fmt.Errorf("parse cron(%s): %w", body, err)
	}
	return cron{expr}, nil
}
