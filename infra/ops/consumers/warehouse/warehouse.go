package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	if rank == 0 {
		return nil // not about the state of an order
	}
	// Of two payments that go back, the same one is kept whichever is heard of first.
	err = w.update(ctx, e, "SET saleId = :sale, #state = :state, #rank = :rank, since = :since, payment = :payment, amount = :amount, currency = :currency, labels = :labels",
		"attribute_not_exists(#rank) OR #rank < :rank OR #rank = :rank AND payment > :payment", map[string]string{"#state": "state", "#rank": "rank"}, map[string]types.AttributeValue{
			":sale": text(e.SaleID), ":state": text(state), ":rank": number(int64(rank)), ":since": text(e.OccurredAt.UTC().Format(time.RFC3339)),
			":payment": text(e.Payment), ":amount": number(e.Amount), ":currency": text(e.Currency), ":labels": text(strings.Join(e.Labels, ",")),
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

// update changes the order's item if the condition holds. The names are words that DynamoDB reserves.
func (w *warehouse) update(ctx context.Context, e orderevent.Event, update, condition string, names map[string]string, values map[string]types.AttributeValue) error {
	_, err := w.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: map[string]types.AttributeValue{"orderId": text(e.OrderID)},
		UpdateExpression: &update, ConditionExpression: &condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	if _, known := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !known {
		return fmt.Errorf("note order %s: %w", e.OrderID, err)
	}
	return nil
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// export writes every order once, with the highest state that was heard of, as CSV. Deliver
// what is PAID and, in a sale that asks for no payment, also what is CONFIRMED.
func (w *warehouse) export(ctx context.Context, out io.Writer) error {
	list := spreadsheet.NewWriter(out, "sale", "order", "user", "state", "since", "payment", "amount", "currency", "labels")
	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{TableName: &w.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("export orders: %w", err)
		}
		for _, item := range page.Items {
			if err := list.Line(line(item)...); err != nil {
				return fmt.Errorf("export orders: %w", err)
			}
		}
	}
	return list.Flush()
}

// line is an order's line in the export.
func line(item map[string]types.AttributeValue) []spreadsheet.Cell {
	value := func(name string) string {
		if v, ok := item[name].(*types.AttributeValueMemberS); ok {
			return v.Value
		}
		return ""
	}
	amount := spreadsheet.Cell{}
	if v, ok := item["amount"].(*types.AttributeValueMemberN); ok && value("currency") != "" {
		if minor, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			amount = spreadsheet.Amount(minor, value("currency"))
		}
	}
	text, word := spreadsheet.Text, spreadsheet.Word
	return []spreadsheet.Cell{
		text(value("saleId")), text(value("orderId")), text(value("user")), word(value("state")), text(value("since")), text(value("payment")),
		amount, word(value("currency")), text(value("labels")),
	}
}
