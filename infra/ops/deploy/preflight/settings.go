package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/local/scheduler"
	"flashsale/shared/eligibility"
)

// regional are the parameters whose ARN must be of the stack's region. The ARNs of a front are of
// us-east-1, as their patterns say.
var regional = []string{
	"ApiCertificateArn", "StripeKeysArn", "StandardWebhooksKeysArn", "PaymentLinkKeyArn", "ExistingTableStreamArn", "PageTopicArn", "TicketTopicArn", "EventBusArn",
}

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

// values checks what CloudFormation would refuse, which it says after minutes, and what it takes
// and fails later.
func (r *report) values() {
	const check = "parameters"
	before := len(r.findings)
	fail := func(format string, values ...any) { r.add(Failed, check, format, values...) }
	for _, p := range r.Template.Parameters {
		if p.Missing {
			fail("%s has no value: set it in the file's section or in PARAMETERS", p.Name)
		} else if p.Problem != "" {
			fail("%s=%q: %s", p.Name, p.Value, p.Problem)
		}
	}
	for _, rule := range r.Template.Broken {
		fail("%s", rule)
	}
	if u := r.text("EligibilityUrl"); u != "" {
		if err := eligibility.CheckURL(u); err != nil {
			fail("EligibilityUrl: PurchaseFunction would not start: %v", err)
		}
	}
	if strings.Contains(r.text("PaymentUrl"), "{signature}") && r.text("PaymentLinkKeyArn") == "" {
		fail("PaymentUrl has a {signature}: QueryFunction would not start without PaymentLinkKeyArn")
	}
	for i, text := range strings.Split(r.text("DrawSeconds"), "/") {
		if seconds := number(text); i < len(drawTimes) && (seconds < drawTimes[i].seconds || seconds > longestDrawTime) {
			fail("DrawSeconds has %d s %s: at least %d, %s, and at most %d", seconds, drawTimes[i].what, drawTimes[i].seconds, drawTimes[i].why, longestDrawTime)
		}
	}
	for _, name := range regional {
		// arn:aws:SERVICE:REGION:ACCOUNT:…
		parts := strings.Split(r.text(name), ":")
		if len(parts) > 3 && r.Region != "" && parts[3] != r.Region {
			fail("%s=%s: it must be in the stack's region, %s", name, r.text(name), r.Region)
		}
	}
	if len(r.findings) == before {
		r.add(OK, check, "%d, all with values that CloudFormation accepts", len(r.Template.Parameters))
	}
	if r.text("CreateUserPool") == "with-test-users" {
		r.check(r.TestUsers, "test users", "CreateUserPool=with-test-users lets anyone with the account's credentials sign in as any user; only dev may have it")
	}
}

// recipients checks that somebody gets the alarms of production: by AlarmEmail, or by topics in
// place of the stack's own.
func (r *report) recipients() {
	if !r.Production {
		return
	}
	email, page, ticket := r.text("AlarmEmail"), r.text("PageTopicArn"), r.text("TicketTopicArn")
	if email == "" && (page == "" || ticket == "") {
		r.add(Failed, "alarms", "no recipient: set AlarmEmail or both of PageTopicArn and TicketTopicArn")
		return
	}
	r.add(OK, "alarms", "%s", strings.Join(strings.Fields(page+" "+ticket+" "+email), " "))
}

// isOver is normal on the day of a sale: a rollback deploys the same parameters again.
const isOver = "is in the past and will not run again; this is normal on the day of its sale"

// seeding checks the schedule that creates or edits a sale.
func (r *report) seeding() {
	const check = "schedule of the seeding"
	// The part of SeedFunction's request that says whether it comes in time.
	var request struct{ Action, SaleID, At, OpensAt, ClosesAt string }
	input, at := r.text("SeedScheduleInput"), r.text("SeedScheduleExpression")
	read := json.Unmarshal([]byte(input), &request)
	expression, err := scheduler.Parse(at, r.text("SeedScheduleTimezone"))
	switch {
	case read != nil:
		r.add(Failed, check, "its input is not a JSON object: %v", read)
	case at == "":
		if request.Action == "create" {
			r.add(Warning, check, "it is off: sale %q will not be seeded automatically", request.SaleID)
		}
	case err != nil:
		r.add(Failed, check, "%v", err)
	default:
		next, ok := expression.Next(r.Now)
		if !ok {
			r.add(Warning, check, "%s (%s) %s", at, r.text("SeedScheduleTimezone"), isOver)
			return
		}
		says := "next at " + next.UTC().Format(time.RFC3339)
		switch request.Action {
		case "create":
			says += ", for sale " + strconv.Quote(request.SaleID) + " which opens at " + request.OpensAt
			err = comesInTime(next, request.OpensAt, request.ClosesAt)
		case "pause", "resume", "reschedule":
			if request.At == "" {
				err = fmt.Errorf(`%s needs "at":"<aws.scheduler.scheduled-time>": the request may be delivered again after a newer edit`, request.Action)
			}
		}
		r.unless(err, check, says)
	}
}

// comesInTime fails unless a sale is seeded before it opens.
func comesInTime(seeded time.Time, opensAt, closesAt string) error {
	opens, err := time.Parse(time.RFC3339, opensAt)
	closes, failed := time.Parse(time.RFC3339, closesAt)
	switch {
	case err != nil || failed != nil:
		return fmt.Errorf("opensAt and closesAt: %w", cmp.Or(err, failed))
	case !closes.After(opens):
		return errors.New("it closes before it opens")
	case !opens.After(seeded):
		return errors.New("it opens before it is seeded")
	}
	return nil
}

// warming says when environments are provisioned. They cost money until they are released, so a
// later release is required.
func (r *report) warming() {
	const check = "warming"
	if r.text("PurchaseProvisionedConcurrency") == "0" {
		return
	}
	var due []string
	for _, parameter := range []string{"WarmFrom", "WarmUntil"} {
		at := r.text(parameter)
		expression, err := scheduler.Parse(at, "UTC")
		if err != nil {
			r.add(Failed, check, "%s: %v", parameter, err)
			return
		}
		next, ok := expression.Next(r.Now)
		if !ok {
			r.add(Warning, check, "%s=%s %s", parameter, at, isOver)
			return
		}
		due = append(due, next.UTC().Format(time.RFC3339))
	}
	if strings.HasPrefix(r.text("WarmUntil"), "at(") && due[1] < due[0] {
		r.add(Failed, check, "WarmUntil, %s, is before WarmFrom", due[1])
		return
	}
	r.add(OK, check, "%s environments at %s, 0 at %s", r.text("PurchaseProvisionedConcurrency"), due[0], due[1])
}

// page checks how buyers sign in on the buyer's page. That nobody can is a warning: a shop
// may have a page of its own.
func (r *report) page() {
	const check = "buyer's page"
	own := r.ownPool()
	if own && r.text("SignInDomainPrefix") == "" || !own && strings.HasPrefix(r.text("SignIn"), ",") {
		r.add(Warning, check, "nobody can sign in on it: set PageOrigin and SignInDomainPrefix, or with another issuer SignIn")
		return
	}
	// The domain of a front of their own is unknown.
	served := map[string]string{"false": r.text("ApiDomainName"), "true": r.text("FrontDomainName")}[r.text("CreateFront")]
	origin := r.text("PageOrigin")
	switch host, _ := strings.CutPrefix(origin, "https://"); {
	case served != "" && host != served:
		r.add(Failed, check, "PageOrigin=%s, but buyers see it at https://%s: the sign-in would come back to another origin", origin, served)
	case origin == "":
		r.add(Warning, check, "PageOrigin is empty: the page takes whatever origin it is opened at for its own")
	default:
		r.add(OK, check, "at %s/s/SALE", origin)
	}
}
