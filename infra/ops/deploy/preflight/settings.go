package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"flashsale/infra/local/scheduler"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/shared/eligibility"
)

// deliveries is the Lambda guide's rule for queues: the visibility timeout must be at least
// this many times the function's timeout.
const deliveries = 6

// alarmTopics replace the stack's own topics, whose only subscriber is AlarmEmail. In
// production both must have a recipient.
var alarmTopics = []string{"PageTopicArn", "TicketTopicArn"}

// regional are the parameters whose ARN must be of the stack's region. The ARNs of a front are of
// us-east-1, as their patterns say, and the bus has a check of its own.
var regional = []string{"ApiCertificateArn", "StripeKeysArn", "StandardWebhooksKeysArn", "PaymentLinkKeyArn", "ExistingTableStreamArn", "PageTopicArn", "TicketTopicArn"}

// drawTimes are the bounds of the times in DrawSeconds. Shorter ones are for a stack on one machine,
// and with longer ones than a day no function starts.
var drawTimes = []struct {
	what    string
	seconds int
	why     string
}{
	{"before the roll is read", 900, "so that no entry that was confirmed is missing on the roll (P27)"},
	{"before the dice", 3600, "so that entrants have read the roll before its dice are known (P27)"},
	{"between two calls", 60, "so that clocks that differ cannot make two calls overlap (P29)"},
}

const longestDrawTime = 24 * 60 * 60

// longestStack is how long a stack's name may be: SQS allows 80 characters for the name of
// the order queue, which is the stack's with "-OrderQueue".
const longestStack = 80 - len("-OrderQueue")

func parameters(r *report, d Deployment) {
	fine := true
	if n := len(d.Stack); n > longestStack {
		fine = false
		r.add(Failed, "parameters", "stack_name has %d characters: with more than %d, SQS refuses the name of the order queue", n, longestStack)
	}
	for _, p := range d.Demand.Parameters {
		switch {
		case p.Missing:
			fine = false
			r.add(Failed, "parameters", "%s has no value: set it in the file's section or in PARAMETERS", p.Name)
		case p.Problem != "":
			fine = false
			r.add(Failed, "parameters", "%s=%q: %s", p.Name, p.Value, p.Problem)
		}
	}
	if u := value(d.Demand, "EligibilityUrl"); u != "" {
		if err := eligibility.CheckURL(u); err != nil {
			fine = false
			r.add(Failed, "parameters", "EligibilityUrl: PurchaseFunction would not start: %v", err)
		}
	}
	if strings.Contains(value(d.Demand, "PaymentUrl"), "{signature}") && value(d.Demand, "PaymentLinkKeyArn") == "" {
		fine = false
		r.add(Failed, "parameters", "PaymentUrl has a {signature}: QueryFunction would not start without PaymentLinkKeyArn")
	}
	for i, text := range strings.Split(value(d.Demand, "DrawSeconds"), "/") {
		seconds, err := strconv.Atoi(text)
		if err != nil || i >= len(drawTimes) {
			continue // CloudFormation refuses the parameter, which is a finding of its own.
		}
		if least := drawTimes[i]; seconds < least.seconds || seconds > longestDrawTime {
			fine = false
			r.add(Failed, "parameters", "DrawSeconds has %d s %s: at least %d, %s, and at most %d", seconds, least.what, least.seconds, least.why, longestDrawTime)
		}
	}
	for _, name := range regional {
		// arn:aws:SERVICE:REGION:ACCOUNT:…
		parts := strings.Split(value(d.Demand, name), ":")
		if len(parts) > 3 && d.Region != "" && parts[3] != d.Region {
			fine = false
			r.add(Failed, "parameters", "%s=%s: it must be in the stack's region, %s", name, value(d.Demand, name), d.Region)
		}
	}
	for _, rule := range d.Demand.Broken {
		fine = false
		r.add(Failed, "parameters", "%s", rule)
	}
	if fine {
		r.add(OK, "parameters", "%d, all with values that CloudFormation accepts", len(d.Demand.Parameters))
	}
	if value(d.Demand, "CreateUserPool") == "with-test-users" {
		r.check(d.TestUsers, "test users", "CreateUserPool=with-test-users lets anyone with the account's credentials sign in as any user; only dev may have it")
	}
	if d.Production {
		email := value(d.Demand, "AlarmEmail")
		topics := slices.DeleteFunc([]string{value(d.Demand, alarmTopics[0]), value(d.Demand, alarmTopics[1])}, func(s string) bool { return s == "" })
		if email == "" && len(topics) < len(alarmTopics) {
			r.add(Failed, "alarms", "no recipient: set AlarmEmail or both of %s", strings.Join(alarmTopics, " and "))
		} else {
			r.add(OK, "alarms", "%s", strings.Join(append(topics, email), " "))
		}
	}
}

func value(d demand.Demand, name string) string {
	for _, p := range d.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func queues(r *report, d Deployment) {
	for _, f := range d.Demand.Functions {
		for _, s := range f.Sources {
			least := deliveries*f.Timeout + s.Window
			r.check(s.Visibility >= least, "visibility",
				"%s hides a message for %d s; %d × %s's timeout of %d s and its window of %d s make %d s",
				s.Queue, s.Visibility, deliveries, f.ID, f.Timeout, s.Window, least)
		}
	}
}

func schedules(r *report, d Deployment) {
	for _, f := range d.Demand.Functions {
		for _, s := range f.Schedules {
			expression, err := parse(s)
			if err != nil {
				r.add(Failed, "schedule "+s.Name, "%v", err)
				continue
			}
			if s.Enabled {
				says, err := schedule(s, expression, d.Now)
				r.unlessOver(err, "schedule "+s.Name, says)
				continue
			}
			var request seeding
			if json.Unmarshal([]byte(s.Input), &request) == nil && request.Action == "create" {
				r.add(Warning, "schedule "+s.Name, "it is off: sale %q will not be seeded automatically", request.SaleID)
			}
		}
		if len(f.Warming) > 0 {
			says, err := warming(f.Warming, d.Now)
			r.unlessOver(err, "warming "+f.ID, says)
		}
	}
}

// errOver means that a schedule is in the past. That is normal on the day of a sale: a
// rollback deploys the same parameters again.
var errOver = errors.New("it will not run again; this is normal on the day of its sale")

func (r *report) unlessOver(err error, check, says string) {
	if errors.Is(err, errOver) {
		r.add(Warning, check, "%s%s", says, text(err))
		return
	}
	r.check(err == nil, check, "%s%s", says, text(err))
}

// seeding is the part of SeedFunction's request that says whether it comes in time.
type seeding struct {
	Action, SaleID, At string
	OpensAt, ClosesAt  string
}

// parse checks what AWS checks of a schedule even if it is off.
func parse(s demand.Schedule) (scheduler.Expression, error) {
	expression, err := scheduler.Parse(s.Expression, s.Timezone)
	if err == nil && s.Input != "" && !filledIn(s) && !json.Valid([]byte(s.Input)) {
		err = errors.New("its input is not JSON")
	}
	return expression, err
}

// filledIn reports whether the input is incomplete until the scheduler fills in its values.
func filledIn(s demand.Schedule) bool { return strings.Contains(s.Input, "<aws.scheduler.") }

func schedule(s demand.Schedule, expression scheduler.Expression, now time.Time) (string, error) {
	next, ok := expression.Next(now)
	if !ok {
		return "", fmt.Errorf("%s (%s) is in the past: %w", s.Expression, s.Timezone, errOver)
	}
	says := "next at " + next.UTC().Format(time.RFC3339)
	if s.Input == "" || filledIn(s) {
		return says, nil
	}
	var request seeding
	if err := json.Unmarshal([]byte(s.Input), &request); err != nil {
		return says, fmt.Errorf("its input is not a JSON object: %w", err)
	}
	switch request.Action {
	case "create":
	case "pause", "resume", "reschedule":
		if request.At == "" {
			return says, fmt.Errorf(`%s needs "at":"<aws.scheduler.scheduled-time>": the request may be delivered again after a newer edit`, request.Action)
		}
		return says, nil
	default:
		return says, nil
	}
	opens, err := time.Parse(time.RFC3339, request.OpensAt)
	if err != nil {
		return says, fmt.Errorf("sale %s: opensAt: %w", request.SaleID, err)
	}
	closes, err := time.Parse(time.RFC3339, request.ClosesAt)
	switch {
	case err != nil:
		return says, fmt.Errorf("sale %s: closesAt: %w", request.SaleID, err)
	case !closes.After(opens):
		return says, fmt.Errorf("sale %s closes before it opens", request.SaleID)
	case !opens.After(next):
		return says, fmt.Errorf("sale %s opens at %s, before it is seeded", request.SaleID, request.OpensAt)
	}
	return says + ", for sale " + strconv.Quote(request.SaleID) + " which opens at " + request.OpensAt, nil
}

// warming says when environments are provisioned. They cost money until they are released,
// so a later release is required.
func warming(all []demand.Warming, now time.Time) (string, error) {
	var says, over []string
	var last time.Time
	for _, w := range all {
		expression, err := scheduler.Parse(w.Expression, w.Timezone)
		if err != nil {
			return "", fmt.Errorf("%s: %w", w.Name, err)
		}
		next, ok := expression.Next(now)
		switch {
		case !ok:
			over = append(over, fmt.Sprintf("%s: %s (%s)", w.Name, w.Expression, w.Timezone))
			continue
		case strings.HasPrefix(w.Expression, "at(") && next.Before(last):
			return "", fmt.Errorf("%s at %s is before the start of what it ends", w.Name, next.UTC().Format(time.RFC3339))
		}
		last = next
		says = append(says, fmt.Sprintf("%d environments at %s", w.Environments, next.UTC().Format(time.RFC3339)))
	}
	if len(over) > 0 {
		return strings.Join(says, ", "), fmt.Errorf("%s is in the past: %w", strings.Join(over, ", "), errOver)
	}
	return strings.Join(says, ", "), nil
}

func issuers(ctx context.Context, r *report, d Deployment) {
	if len(d.Demand.Issuers) == 0 {
		r.add(OK, "issuer", "unknown before the deployment")
	}
	for _, issuer := range d.Demand.Issuers {
		if d.Issuers == nil {
			r.add(Warning, "issuer", "%s was not checked", issuer)
			continue
		}
		err := d.Issuers.Check(ctx, issuer)
		r.check(err == nil, "issuer", "%s%s", issuer, text(err))
	}
}

func tree(ctx context.Context, r *report, d Deployment) {
	if d.Tree == nil {
		return
	}
	files, err := d.Tree.Uncommitted(ctx)
	spoilt := Warning
	if d.Production {
		spoilt = Failed
	}
	switch {
	case errors.Is(err, ErrNoClone):
		r.add(spoilt, "work tree", "%v", err)
	case err != nil:
		r.add(Failed, "work tree", "%v", err)
	case len(files) == 0:
		r.add(OK, "work tree", "everything is committed")
	default:
		r.add(spoilt, "work tree", "%d files are not committed, the first: %s", len(files), strings.TrimSpace(files[0]))
	}
}

// text formats an error for the end of a finding.
func text(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// grouped formats a number with commas between thousands.
func grouped(n int) string { return message.NewPrinter(language.English).Sprint(n) }
