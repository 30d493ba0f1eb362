package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/ops/consumers/orderevent"
	"flashsale/shared/currency"
)

const (
	// keep is how old an event may be to be mailed. The table remembers its id longer, so
	// an event that is published again later is never mailed twice.
	keep       = 30 * 24 * time.Hour
	remembered = keep + 24*time.Hour
	// lease is longer than the function's timeout, 30 s, and shorter than the minute
	// after which Lambda repeats a failed invocation.
	lease = 45 * time.Second
)

// mail is one e-mail. Its ID is the event's: a service that takes an idempotency key sends
// a mail with it only once.
type mail struct {
	ID, User, Template, SaleID, OrderID string
	Amount                              string    // that was paid, is to be paid or goes back, such as "899.00 CNY", or ""
	PayBy                               time.Time // of please-pay
	Subject, Text                       string    // in the buyer's language
}

// templates are the mails by the state in which an order is, whatever was mailed before.
var templates = map[string]string{
	"CONFIRMED": "your-order", "PAID": "thank-you", "EXPIRED": "order-expired", "CANCELLED": "order-cancelled", orderevent.Recalled: "order-recalled",
}

// table is the part of DynamoDB's client that a mailer uses.
type table interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// mailer sends a mail for each state of an order that is not overtaken, and one for each other payment that
// goes back, so that the last mail tells how the order stands. Its table has the key `id` and the TTL attribute
// `expiresAt`.
type mailer struct {
	db    table
	table string
	// language is the shop's own knowledge of its user, as a tag of BCP 47; "" is English. The events have none: an order
	// may be placed by a program, and a person may read mails in another language than that of their browser.
	language func(ctx context.Context, user string) (tag string, err error)
	zone     *time.Location // of the times in mails
	send     func(context.Context, mail) error
	now      func() time.Time
}

// handle notes the event in the table, sends the mail, and notes that it is sent.
//
// If the function ends between the first two or the last two steps, nobody knows whether
// the mail was sent, and the repetition sends it again: a buyer who gets one mail twice is
// better off than a buyer who gets none. Only then is a mail sent twice.
func (m *mailer) handle(ctx context.Context, delivered events.EventBridgeEvent) error {
	e, err := orderevent.Read(delivered)
	if err != nil {
		return err
	}
	state, rank := e.OrderState()
	about, template := "order:"+e.OrderID, templates[state]
	if rank == 0 && e.Type == "RefundDue" && e.Reason != "cancelled" { // of which OrderCancelled tells
		about, template = e.ID, "refund-due"
	}
	if e.AsksForPayment != nil && *e.AsksForPayment {
		template = "please-pay"
		if !m.now().Before(e.PayBy) { // it comes late, and what became of the order is another event
			return nil
		}
	}
	// The refund of an unknown order has no user, and an erased user no address.
	if template == "" || e.User == "" || e.IsErased() || e.OccurredAt.Before(m.now().Add(-keep)) {
		return nil
	}
	mine, by, err := m.begin(ctx, e, about, rank)
	if err == nil && !mine && e.Type == "RefundDue" && by != e.ID { // another payment of a recalled order
		about, template = e.ID, "refund-due"
		mine, _, err = m.begin(ctx, e, about, 0)
	}
	if err != nil || !mine {
		return err
	}
	amount := ""
	if text, known := currency.Decimal(e.Amount, e.Currency); known {
		amount = text + " " + e.Currency
	}
	tag, err := m.language(ctx, e.User)
	if err != nil {
		return fmt.Errorf("find language for mail %s: %w", e.ID, err) // Lambda repeats it after the lease
	}
	subject, text := letter(template, tag, e, m.zone)
	if err := m.send(ctx, mail{e.ID, e.User, template, e.SaleID, e.OrderID, amount, e.PayBy, subject, text}); err != nil {
		return fmt.Errorf("send mail %s: %w", e.ID, err) // Lambda repeats it after the lease
	}
	_, err = m.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &m.table, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: about}},
		UpdateExpression:          aws.String("SET sentAt = :now"),
		ConditionExpression:       aws.String("eventId = :event"), // else a later state has overtaken it meanwhile
		ExpressionAttributeValues: map[string]types.AttributeValue{":now": seconds(m.now()), ":event": &types.AttributeValueMemberS{Value: e.ID}},
	})
	if _, overtaken := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !overtaken {
		return fmt.Errorf("note mail %s: %w", e.ID, err)
	}
	return nil
}

// begin reports whether this invocation is to send the mail: nothing of as high a rank was noted about
// the order or the refund, else by names the event that was. It fails while another one may be sending it.
func (m *mailer) begin(ctx context.Context, e orderevent.Event, about string, rank int) (mine bool, by string, err error) {
	now := m.now()
	event := &types.AttributeValueMemberS{Value: e.ID}
	rankOf := &types.AttributeValueMemberN{Value: strconv.Itoa(rank)}
	_, err = m.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &m.table,
		Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: about}, "eventId": event, "stateRank": rankOf,
			"leaseUntil": seconds(now.Add(lease)), "expiresAt": seconds(e.OccurredAt.Add(remembered)),
		},
		ConditionExpression: aws.String(
			"attribute_not_exists(id) OR stateRank < :rank OR eventId = :event AND attribute_not_exists(sentAt) AND leaseUntil < :now"),
		ExpressionAttributeValues:           map[string]types.AttributeValue{":now": seconds(now), ":event": event, ":rank": rankOf},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var known *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return true, e.ID, nil
	case !errors.As(err, &known):
		return false, "", fmt.Errorf("begin mail %s: %w", e.ID, err)
	}
	if begun, ok := known.Item["eventId"].(*types.AttributeValueMemberS); ok {
		by = begun.Value
	}
	if by != e.ID || known.Item["sentAt"] != nil {
		return false, by, nil
	}
	return false, by, fmt.Errorf("begin mail %s: another invocation may be sending it", e.ID)
}

func seconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}
