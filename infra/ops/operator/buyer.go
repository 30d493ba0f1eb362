package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/text/currency"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/books"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

// buyer prints what happened to one buyer's order and what support may tell the buyer.
func buyer(ctx context.Context, p place, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("buyer", flag.ContinueOnError)
	saleID := flags.String("sale", "", "")
	user := flags.String("user", "", "")
	if err := arguments.Parse(flags, args); err != nil {
		return err
	}
	if !sale.ValidID(*saleID) {
		return fmt.Errorf("%q is not a sale id; name the sale: make buyer SALE=moutai BUYER=alice", *saleID)
	}
	if !sale.ValidUser(*user) {
		return fmt.Errorf("%q is not a user id; name the buyer: make buyer SALE=%s BUYER=alice", *user, *saleID)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	db, table, err := p.dynamodb(ctx, ledger.OneAttempt)
	if err != nil {
		return err
	}
	c := complaint{
		orders:     ledger.New(db, table, ledger.Options{}),
		seedings:   func() ([]books.Seeding, error) { return books.Seedings(ctx, db, table, *saleID) },
		whyPending: func(c sale.Claim) string { return p.whyPending(ctx, c) },
	}
	return c.answer(ctx, *saleID, *user, time.Now(), out)
}

// orders is the part of the ledger that buyer uses.
type orders interface {
	claims
	Sale(ctx context.Context, saleID string) (sale.Sale, error)
	OrderedIn(ctx context.Context, group, user string) (saleID string, err error)
	Order(ctx context.Context, id uint64) (sale.Order, error)
	Refunds(ctx context.Context, saleID string) ([]sale.Refund, error)
}

// complaint holds the sources for the answer to a buyer's complaint.
type complaint struct {
	orders
	seedings   func() ([]books.Seeding, error) // of the sale
	whyPending func(sale.Claim) string
}

// answer writes the buyer's history from the table, a line for each event, and then what
// support may tell the buyer.
func (book complaint) answer(ctx context.Context, saleID, user string, now time.Time, out io.Writer) error {
	c, err := book.Claim(ctx, saleID, user)
	switch {
	case sale.CodeOf(err) == sale.OrderNotFound:
		s, err := book.Sale(ctx, saleID)
		if err != nil {
			return errors.New(oneLine(err))
		}
		fmt.Fprintf(out, "%s has no claim in sale %s (ids are case-sensitive; BUYER is the token's `sub`)\n", user, saleID)
		fmt.Fprintf(out, "%s sells from %s to %s and is %s now%s\n", s.ID, instant(s.OpensAt), instant(s.ClosesAt), s.Phase(now), because(s))
		if s.LimitGroup != "" {
			other, err := book.OrderedIn(ctx, s.LimitGroup, user)
			if err != nil {
				return errors.New(oneLine(err))
			}
			if other != "" {
				fmt.Fprintf(out, "%s has ordered in sale %s of the group %s: `make buyer SALE=%s BUYER=%s`\n", user, other, s.LimitGroup, other, user)
				fmt.Fprintf(out, "for the buyer: there is one order for each customer in all of these sales, and yours is in %s\n", other)
				return nil
			}
		}
		seedings, err := book.seedings()
		if err != nil {
			return errors.New(oneLine(err))
		}
		for _, seeded := range seedings {
			if seeded.Units > 0 && seeded.At.After(s.OpensAt) {
				fmt.Fprintf(out, "%s  %d units were added (%s): a \"sold out\" before that was correct\n", httpapi.Time(seeded.At), seeded.Units, seeded.ID)
			}
		}
		if s.PayWithin > 0 {
			fmt.Fprintln(out, "units of orders that are not paid in time, or are cancelled, are sold again: a \"sold out\" before that was correct")
		}
		fmt.Fprintln(out, "for the buyer: no order was accepted under this account")
		return nil
	case err != nil:
		return errors.New(oneLine(err))
	}
	event := func(at time.Time, what string) { fmt.Fprintf(out, "%s  %s\n", httpapi.Time(at), what) }
	event(c.AcceptedAt, fmt.Sprintf("accepted: claim %s, one unit of shard %d", c.ID, c.Shard))
	if !c.ResentAt.IsZero() {
		event(c.ResentAt, "its order message was sent again (latest resend)")
	}
	if c.State() == sale.Pending {
		fmt.Fprintf(out, "%-24s  pending for %v: %s\n", "now", now.Sub(c.AcceptedAt).Round(time.Second), book.whyPending(c))
		fmt.Fprintln(out, "for the buyer: your order was accepted; its number will follow, and you need not order again")
		return nil
	}
	number := orderid.String(c.OrderID)
	event(orderid.Time(c.OrderID), "confirmed: order "+number)
	switch _, err := book.Order(ctx, c.OrderID); {
	case sale.CodeOf(err) == sale.OrderNotFound:
		fmt.Fprintf(out, "%-24s  its order item is missing: reconcile sends its message again, `make resend SALE=%s` at once\n", "now", saleID)
	case err != nil:
		return errors.New(oneLine(err))
	}
	say, err := book.settled(ctx, saleID, c, event)
	if err != nil {
		return errors.New(oneLine(err))
	}
	fmt.Fprintf(out, "for the buyer: %s\n", say)
	return nil
}

// settled tells how a confirmed claim was paid or released, and what to say to the buyer.
func (book complaint) settled(ctx context.Context, saleID string, c sale.Claim, event func(time.Time, string)) (say string, err error) {
	s, err := book.Sale(ctx, saleID)
	if err != nil {
		return "", err
	}
	type line struct {
		at   time.Time
		what string
	}
	var lines []line
	add := func(at time.Time, what string) { lines = append(lines, line{at, what}) }
	number, payBy := orderid.String(c.OrderID), ledger.PayBy(s, c)
	if s.IsRecalled() {
		add(s.RecalledAt, "the sale was recalled"+because(s))
	}
	switch c.State() {
	case sale.Paid:
		add(c.PaidAt, "paid: "+c.Payment)
		say = fmt.Sprintf("your order is %s, and it is paid", number)
	case sale.Expired, sale.Cancelled:
		add(c.ReleasedAt, fmt.Sprintf("released by %s", c.ReleasedBy))
		say = fmt.Sprintf("your order %s is %s, and its unit is not yours any more", number, strings.ToLower(string(c.State())))
	default:
		say = "your order is " + number
		if !payBy.IsZero() {
			add(payBy, "to be paid by then; a payment counts as long as the order is not released")
			say += ", and it is not paid"
		}
	}
	if s.IsRecalled() {
		say = "the sale was recalled, and the goods will not come; " + say
	}
	refunds, err := book.Refunds(ctx, saleID)
	for _, r := range refunds {
		switch {
		case r.OrderID != c.OrderID:
		case r.RefundedAt.IsZero():
			add(r.At, fmt.Sprintf("a refund is due: %s, %d %s in minor units, because: %s", r.Payment, r.Amount, r.Currency, r.Reason))
			say += fmt.Sprintf("; your payment of %s (%s) will be paid back", money(r), r.Payment)
		default:
			add(r.RefundedAt, fmt.Sprintf("refunded: %s, %d %s in minor units", r.Payment, r.Amount, r.Currency))
			say += fmt.Sprintf("; your payment of %s (%s) was paid back on %s", money(r), r.Payment, r.RefundedAt.UTC().Format(time.DateOnly))
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range lines {
		event(l.at, l.what)
	}
	return say, err
}

// because is what the operator wrote about the sale's recall, after a colon; "" if nothing.
func because(s sale.Sale) string {
	if s.RecallNote == "" {
		return ""
	}
	return ": " + s.RecallNote
}

// money is a refund's amount as people write it.
func money(r sale.Refund) string {
	unit, err := currency.ParseISO(r.Currency)
	if err != nil {
		return fmt.Sprintf("%d %s in minor units", r.Amount, r.Currency)
	}
	digits, _ := currency.Standard.Rounding(unit)
	text := fmt.Sprintf("%0*d", digits+1, r.Amount)
	if digits > 0 {
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	return r.Currency + " " + text
}

// whyPending says where the claim's message is, as far as the queues show.
func (p place) whyPending(ctx context.Context, c sale.Claim) string {
	repair := fmt.Sprintf("reconcile sends its message again, `make resend SALE=%s` at once", c.SaleID)
	client, source, deadLetters, err := p.queues(ctx)
	if err != nil {
		return repair
	}
	switch lost, err := isDeadLetter(ctx, client, deadLetters, c); {
	case err != nil:
		return repair
	case lost:
		return "its message is in the dead-letter queue: fix what failed, then make redrive GO=1"
	}
	depth, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &source, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}})
	if err != nil {
		return repair
	}
	return fmt.Sprintf("the order queue has %s messages waiting and %s being processed; %s",
		depth.Attributes["ApproximateNumberOfMessages"], depth.Attributes["ApproximateNumberOfMessagesNotVisible"], repair)
}

// isDeadLetter looks for the claim's message among the first dead letters.
func isDeadLetter(ctx context.Context, client *sqs.Client, deadLetters string, c sale.Claim) (found bool, err error) {
	r := redriving{client: client, deadLetters: deadLetters}
	total, err := r.depth(ctx)
	if err != nil {
		return false, err
	}
	return found, r.walk(ctx, min(total, previewed), previewHide, func(body, _ string) (bool, error) {
		m, err := orderq.Decode(body)
		found = found || err == nil && m.ClaimID == c.ID
		return true, nil
	})
}
