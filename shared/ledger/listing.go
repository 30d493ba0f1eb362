package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// DrainAfter is how long a sale must be closed before it may be drained: longer
// than any request or message that could still touch it.
const DrainAfter = 15 * time.Minute

// Listing is a sale as the list of sales tells.
type Listing struct {
	SaleID   string
	ClosesAt time.Time
	Drained  bool
	// Cursor is where the last reconciliation stopped, or nil.
	Cursor *Audit
}

// Listings returns every sale that is not drained. It fails with sale.Busy or
// sale.Internal.
func (l *Ledger) Listings(ctx context.Context) ([]Listing, error) {
	var list []Listing
	var from item
	for {
		var out *dynamodb.QueryOutput
		err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
			out, err = l.api.Query(ctx, &dynamodb.QueryInput{
				TableName:                 l.table,
				ConsistentRead:            &yes,
				KeyConditionExpression:    aws.String("#pk = :pk"),
				FilterExpression:          aws.String("attribute_not_exists(#drained)"),
				ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#drained": "drained"},
				ExpressionAttributeValues: item{":pk": listingKey("")[attrPK]},
				ExclusiveStartKey:         from,
			})
			return err
		})
		if err != nil {
			return nil, foreign(err)
		}
		for _, it := range out.Items {
			one, err := readListing(it)
			if err != nil {
				return nil, foreign(err)
			}
			list = append(list, one)
		}
		if from = out.LastEvaluatedKey; len(from) == 0 {
			return list, nil
		}
	}
}

// Listing returns one sale's, drained or not. It fails with sale.SaleNotFound,
// sale.Busy or sale.Internal.
func (l *Ledger) Listing(ctx context.Context, saleID string) (Listing, error) {
	it, err := l.get(ctx, listingKey(saleID))
	if err != nil {
		return Listing{}, err
	}
	if it == nil {
		return Listing{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	one, err := readListing(it)
	return one, foreign(err)
}

func readListing(it item) (Listing, error) {
	r := reader{item: it}
	one := Listing{SaleID: r.text(attrSK), ClosesAt: r.time("closesAt")}
	if it["drained"] != nil {
		one.Drained = r.flag("drained")
	}
	if text := r.optionalText("cursor"); text != "" {
		one.Cursor = &Audit{}
		if err := json.Unmarshal([]byte(text), one.Cursor); err != nil {
			return one, fmt.Errorf("read cursor of %s: %w", one.SaleID, err)
		}
	}
	return one, r.err
}

// SaveCursor keeps where a reconciliation stopped. A lost or overwritten cursor
// costs a pass, nothing else.
func (l *Ledger) SaveCursor(ctx context.Context, a *Audit) error {
	text, err := json.Marshal(a)
	if err != nil {
		return foreign(fmt.Errorf("write cursor: %w", err))
	}
	return l.updateListing(ctx, &dynamodb.UpdateItemInput{
		Key:                       listingKey(a.SaleID),
		UpdateExpression:          aws.String("SET #cursor = :cursor"),
		ConditionExpression:       aws.String("attribute_exists(pk)"),
		ExpressionAttributeNames:  map[string]string{"#cursor": "cursor"},
		ExpressionAttributeValues: item{":cursor": str(string(text))},
	})
}

// Drain takes a sale off the reconciler's list, if its end has not moved since.
func (l *Ledger) Drain(ctx context.Context, saleID string, closesAt time.Time) error {
	return l.updateListing(ctx, &dynamodb.UpdateItemInput{
		Key:                       listingKey(saleID),
		UpdateExpression:          aws.String("SET #drained = :yes REMOVE #cursor"),
		ConditionExpression:       aws.String("#closesAt = :closesAt"),
		ExpressionAttributeNames:  map[string]string{"#drained": "drained", "#cursor": "cursor", "#closesAt": "closesAt"},
		ExpressionAttributeValues: item{":yes": boolean(true), ":closesAt": millis(closesAt)},
	})
}

func (l *Ledger) updateListing(ctx context.Context, in *dynamodb.UpdateItemInput) error {
	in.TableName = l.table
	in.ReturnValues = types.ReturnValueNone
	err := l.retry(ctx, maxTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, in)
		return err
	})
	if judge(err) == conditioned {
		return nil // it moved on: the next pass sees why
	}
	return foreign(err)
}
