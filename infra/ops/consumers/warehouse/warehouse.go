package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/spreadsheet"
	"flashsale/infra/ops/consumers/orderevent"
)

// table is the part of DynamoDB's client that a warehouse uses.
type table interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	dynamodb.ScanAPIClient
}

// warehouse keeps one item per order. Its table has the key `orderId`.
type warehouse struct {
	db    table
	table string
}

// handle raises the order's state to the event's, and keeps the order's user. An event of a state that is
// not higher is late or a repetition, and changes nothing; so neither order nor number of events matters.
func (w *warehouse) handle(ctx context.Context, delivered events.EventBridgeEvent) error {
	e, err := orderevent.Read(delivered)
	if err != nil {
		return err
	}
	state, rank := e.OrderState()
	switch {
	case e.OrderID == "":
		return nil
	case rank == 0: // not about the state of the order
		return w.noteMoney(ctx, e)
	}
	if e.Units > 1 { // before the state, which the export waits for; each event of the order says the same, and one of money nothing
		err := w.update(ctx, e, "SET #units = :units", "", map[string]string{"#units": "units"}, map[string]types.AttributeValue{":units": number(e.Units)})
		if err != nil {
			return err
		}
	}
	asks := ""
	if e.AsksForPayment != nil {
		asks = strconv.FormatBool(*e.AsksForPayment)
	}
	if e.Payment == "" {
		e.Amount, e.Currency = 0, "" // what is still to be paid
	}
	// Of two payments that go back, the same one is kept whichever is heard of first.
	err = w.update(ctx, e, "SET saleId = :sale, #state = :state, #rank = :rank, since = :since, payment = :payment, amount = :amount, currency = :currency, asksForPayment = :asks, labels = :labels",
		"attribute_not_exists(#rank) OR #rank < :rank OR #rank = :rank AND payment > :payment", map[string]string{"#state": "state", "#rank": "rank"}, map[string]types.AttributeValue{
			":sale": text(e.SaleID), ":state": text(state), ":rank": number(int64(rank)), ":since": text(e.OccurredAt.UTC().Format(time.RFC3339)),
			":payment": text(e.Payment), ":amount": number(e.Amount), ":currency": text(e.Currency), ":asks": text(asks), ":labels": text(strings.Join(e.Labels, ",")),
		})
	if err != nil {
		return err
	}
	condition := "attribute_not_exists(#user)"
	if e.IsErased() { // the warehouse forgets who it was, and does not learn it again
		condition = "attribute_exists(orderId)"
	}
	return w.update(ctx, e, "SET #user = :user", condition, map[string]string{"#user": "user"}, map[string]types.AttributeValue{":user": text(e.User)})
}

// noteMoney notes what a provider says of the money of one of the order's payments. Each event is a word of a set, so
// neither order nor number matters, nor whether the payment is known yet. A word is the payment, then what it is about:
// a line each, because no id has one.
func (w *warehouse) noteMoney(ctx context.Context, e orderevent.Event) error {
	set, about := e.Type, []any{}
	switch {
	case e.Type == "RefundDone":
		about = []any{e.Amount, e.RefundID, e.Currency}
	case e.Type == "PaymentDisputed" && e.Dispute != "asked":
		set, about = e.Dispute, []any{e.DisputeID}
	case e.Type != "RefundFailed":
		return nil
	}
	word := e.Payment + "\n"
	for _, one := range about {
		word += fmt.Sprintln(one)
	}
	return w.update(ctx, e, "ADD #set :word", "", map[string]string{"#set": set},
		map[string]types.AttributeValue{":word": &types.AttributeValueMemberSS{Value: []string{word}}})
}

// held says why an order is not delivered: it is not paid, or may not be, because its event does not say whether it must;
// or it is paid, but its money is back, was to go back, or is disputed. Only
// a dispute that was won, and never lost, lets it go again: at what was refunded a person looks.
func held(item map[string]types.AttributeValue) string {
	if value(item, "state") == "CONFIRMED" {
		return map[string]string{"true": "unpaid", "": "may-be-unpaid"}[value(item, "asksForPayment")]
	}
	about := func(set string) (all [][]string) { // of the payment that has paid the order
		words, ok := item[set].(*types.AttributeValueMemberSS)
		if !ok {
			return nil
		}
		for _, word := range words.Value {
			if rest, ok := strings.CutPrefix(word, value(item, "payment")+"\n"); ok {
				all = append(all, strings.Split(rest, "\n"))
			}
		}
		return all
	}
	var parts, total int64
	isWhole := false
	for _, refund := range about("RefundDone") {
		switch amount, _ := strconv.ParseInt(refund[0], 10, 64); {
		case refund[2] == "": // whatever was paid
			isWhole = true
		case refund[2] != value(item, "currency"): // it is no money of that payment
		case refund[1] == "": // of all refunds
			total = max(total, amount)
		default:
			parts += amount
		}
	}
	paid, _ := minor(item)
	isWon := func(dispute []string) bool {
		return slices.ContainsFunc(about("won"), func(won []string) bool { return won[0] == dispute[0] })
	}
	switch open := slices.DeleteFunc(about("open"), isWon); {
	case len(open)+len(about("lost")) > 0:
		return "disputed"
	case isWhole, paid > 0 && max(parts, total) >= paid:
		return "back"
	case len(about("RefundFailed")) > 0:
		return "refund-failed"
	}
	return ""
}

// update changes the order's item if the condition holds, "" for none. The names are words that DynamoDB reserves.
func (w *warehouse) update(ctx context.Context, e orderevent.Event, update, condition string, names map[string]string, values map[string]types.AttributeValue) error {
	in := &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: map[string]types.AttributeValue{"orderId": text(e.OrderID)},
		UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	_, err := w.db.UpdateItem(ctx, in)
	if _, known := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !known {
		return fmt.Errorf("note order %s: %w", e.OrderID, err)
	}
	return nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// export writes every order once, with the highest state that was heard of, as CSV. Deliver what is PAID and not held
// back and, in a sale that asks for no payment, also what is CONFIRMED.
func (w *warehouse) export(ctx context.Context, out io.Writer) error {
	list := spreadsheet.NewWriter(out, "sale", "order", "user", "state", "since", "payment", "amount", "currency", "labels", "held", "units")
	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{TableName: &w.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("export orders: %w", err)
		}
		for _, item := range page.Items {
			if value(item, "state") == "" {
				continue // only its money was heard of
			}
			if err := list.Line(line(item)...); err != nil {
				return fmt.Errorf("export orders: %w", err)
			}
		}
	}
	return list.Flush()
}

func value(item map[string]types.AttributeValue, name string) string {
	if v, ok := item[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// minor is what the payment was, in minor units, if anybody said.
func minor(item map[string]types.AttributeValue) (amount int64, known bool) {
	if v, ok := item["amount"].(*types.AttributeValueMemberN); ok && value(item, "currency") != "" {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// line is an order's line in the export.
func line(item map[string]types.AttributeValue) []spreadsheet.Cell {
	amount, units := spreadsheet.Cell{}, "1"
	if v, ok := item["units"].(*types.AttributeValueMemberN); ok {
		units = v.Value
	}
	if paid, known := minor(item); known {
		amount = spreadsheet.Amount(paid, value(item, "currency"))
	}
	text := func(name string) spreadsheet.Cell { return spreadsheet.Text(value(item, name)) }
	word := func(name string) spreadsheet.Cell { return spreadsheet.Word(value(item, name)) }
	return []spreadsheet.Cell{
		text("saleId"), text("orderId"), text("user"), word("state"), text("since"), text("payment"), amount, word("currency"), text("labels"),
		spreadsheet.Word(held(item)), spreadsheet.Word(units),
	}
}
