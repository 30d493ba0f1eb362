package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// columns are the attributes of an item, in the order of the export.
var columns = []string{"orderId", "saleId", "user", "state", "since", "payment"}

// handle raises the order's state to the event's. An event of a state that is not higher is
// late or a repetition, and changes nothing; so neither order nor number of events matters.
func (w *warehouse) handle(ctx context.Context, delivered events.EventBridgeEvent) error {
	e, err := orderevent.Read(delivered)
	if err != nil {
		return err
	}
	rank := orderevent.Rank(e.State)
	if rank == 0 {
		return nil // not about the state of an order
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	_, err = w.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &w.table, Key: map[string]types.AttributeValue{"orderId": text(e.OrderID)},
		UpdateExpression:    aws.String("SET saleId = :sale, #user = :user, #state = :state, #rank = :rank, since = :since, payment = :payment"),
		ConditionExpression: aws.String("attribute_not_exists(orderId) OR #rank < :rank"),
		// DynamoDB reserves these words.
		ExpressionAttributeNames: map[string]string{"#user": "user", "#state": "state", "#rank": "rank"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":sale": text(e.SaleID), ":user": text(e.User), ":state": text(e.State), ":since": text(e.OccurredAt.UTC().Format(time.RFC3339)),
			":payment": text(e.Payment), ":rank": &types.AttributeValueMemberN{Value: strconv.Itoa(rank)},
		},
	})
	var known *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &known) {
		return fmt.Errorf("note order %s: %w", e.OrderID, err)
	}
	return nil
}

// export writes every order once, with the highest state that was heard of, as CSV. Deliver
// what is PAID and, in a sale that asks for no payment, also what is CONFIRMED.
func (w *warehouse) export(ctx context.Context, out io.Writer) error {
	lines := csv.NewWriter(out)
	if err := lines.Write(columns); err != nil {
		return fmt.Errorf("export orders: %w", err)
	}
	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{TableName: &w.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("export orders: %w", err)
		}
		for _, item := range page.Items {
			line := make([]string, len(columns))
			for i, name := range columns {
				if value, ok := item[name].(*types.AttributeValueMemberS); ok {
					line[i] = value.Value
				}
			}
			if err := lines.Write(line); err != nil {
				return fmt.Errorf("export orders: %w", err)
			}
		}
	}
	lines.Flush()
	return lines.Error()
}
