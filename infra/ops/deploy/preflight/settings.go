package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/local/scheduler"
	"flashsale/shared/eligibility"
)

// frontRegion is where CloudFront takes certificates from.
const frontRegion = "us-east-1"

// regional are the parameters whose ARN must be of the stack's region.
var regional = []string{
	"CertificateArn", "StripeKeysArn", "StandardWebhooksKeysArn", "WeChatPayKeysArn", "AlipayKeysArn", "AdyenKeysArn", "RefundKeysArn",
	"PaymentLinkKeyArn", "ExistingTableStreamArn", "PageTopicArn", "TicketTopicArn", "EventBusArn",
}

// wholeARN is the end of a secret's ARN. A policy, unlike a call, takes no part of it.
var wholeARN = regexp.MustCompile(`-[A-Za-z0-9]{6}$`)

// longestStack is how much of the stack's name CloudFormation leaves in a function's, of 64. RolloutRole is for those with the whole.
const longestStack = 64 - len("-ReconcileFunction-0123456789ABC")

// values checks what CloudFormation would refuse, which it says after minutes, and what it takes
// and fails later.
func (r *report) values() {
	const check = "parameters"
	before := len(r.findings)
	fail := func(format string, values ...any) { r.add(Failed, check, format, values...) }
	for _, p := range r.Template.Parameters {
		if p.Missing {
			fail("%s has no value: set it in the file's section or give it by --parameters", p.Name)
		} else if now, was := gone[p.Name]; was {
			fail("%s=%s is gone: %s", p.Name, p.Value, now.says)
		} else if p.Problem != "" {
			fail("%s=%q: %s", p.Name, p.Value, p.Problem)
		}
	}
	for _, rule := range r.Template.Broken {
		fail("%s", rule)
	}
	if len(r.Stack) > longestStack {
		fail("the stack's name has more than %d characters: CodeDeploy could not move the aliases of its functions, whose names have less of it", longestStack)
	}
	if u := r.text("EligibilityUrl"); u != "" {
		if err := eligibility.CheckURL(u); err != nil {
			fail("EligibilityUrl: PurchaseFunction would not start: %v", err)
		}
	}
	if strings.Contains(r.text("PaymentUrl"), "{signature}") && r.text("PaymentLinkKeyArn") == "" {
		fail("PaymentUrl has a {signature}: QueryFunction and PurchaseFunction would not start without PaymentLinkKeyArn")
	}
	if arn := r.text("RefundKeysArn"); arn != "" && !wholeARN.MatchString(arn) {
		fail("RefundKeysArn=%s: it is not the whole ARN, with the six characters at its end: RefundFunction may not read it", arn)
	}
	for _, name := range regional {
		// arn:aws:SERVICE:REGION:ACCOUNT:…
		parts := strings.Split(r.text(name), ":")
		region, whose := r.Region, "the stack's region"
		if name == "CertificateArn" && r.text("CreateFront") == "true" {
			region, whose = frontRegion, "the region of a front's certificates"
		}
		if len(parts) > 3 && region != "" && parts[3] != region {
			fail("%s=%s: it must be in %s, %s", name, r.text(name), whose, region)
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

// due returns when a schedule is due next, in UTC, and adds a finding if it never is. That is normal on the
// day of a sale: a roll-back deploys the same parameters again.
func (r *report) due(check, parameter string) (next time.Time, ok bool) {
	expression, err := scheduler.Parse(r.text(parameter))
	if err != nil {
		r.add(Failed, check, "%s: %v", parameter, err)
		return next, false
	}
	if next, ok = expression.Next(r.Now); !ok {
		r.add(Warning, check, "%s=%s is in the past and will not run again; this is normal on the day of its sale", parameter, r.text(parameter))
	}
	return next.UTC(), ok
}

func (r *report) seeding() {
	const check, schedule = "schedule of the seeding", "SeedScheduleExpression"
	// The part of SeedFunction's request that says whether it comes in time.
	var request struct{ Action, SaleID, At, OpensAt, ClosesAt string }
	if err := json.Unmarshal([]byte(r.text("SeedScheduleInput")), &request); err != nil {
		r.add(Failed, check, "its input is not a JSON object: %v", err)
		return
	}
	if r.text(schedule) == "" {
		if request.Action == "create" {
			r.add(Warning, check, "it is off: sale %q will not be seeded automatically", request.SaleID)
		}
		return
	}
	next, ok := r.due(check, schedule)
	if !ok {
		return
	}
	var err error
	says := "next at " + next.Format(time.RFC3339)
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
// later version is required.
func (r *report) warming() {
	const check = "warming"
	if r.text("PurchaseProvisionedConcurrency") == "0" {
		return
	}
	from, begins := r.due(check, "WarmFrom")
	until, ends := r.due(check, "WarmUntil")
	switch {
	case !begins || !ends:
	case strings.HasPrefix(r.text("WarmUntil"), "at(") && until.Before(from):
		r.add(Failed, check, "WarmUntil, %s, is before WarmFrom", until.Format(time.RFC3339))
	default:
		r.add(OK, check, "%s environments at %s, 0 at %s", r.text("PurchaseProvisionedConcurrency"), from.Format(time.RFC3339), until.Format(time.RFC3339))
	}
}

// page checks how buyers sign in on the buyer's page. That nobody can is a warning: a shop
// may have a page of its own.
func (r *report) page() {
	const check = "buyer's page"
	own := r.text("CreateUserPool") != "false"
	if own && r.text("SignInDomainPrefix") == "" || !own && r.text("SignInAuthorizeUrl") == "" {
		r.add(Warning, check, "nobody can sign in on it: set PageOrigin and SignInDomainPrefix, or with another issuer SignInAuthorizeUrl, SignInTokenUrl and SignInClientId")
		return
	}
	served := r.text("DomainName")
	if r.text("CreateFront") == "own" {
		served = "" // it is that of the API, and the front's is unknown
	}
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
