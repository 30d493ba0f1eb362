package ledger

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Described is a sale after a description.
type Described struct {
	Sale sale.Sale
	// Applied is false if the sale was as described before.
	Applied bool
}

// Describe corrects what buyers read about a sale. It raises the version, so that every
// environment shows it when it next looks at the sale. What the creation asked for stays,
// so its repeat is the same as before. d must have passed Check.
//
// It fails with sale.SaleNotFound (for a draft, too), sale.Busy or sale.Internal.
func (l *Ledger) Describe(ctx context.Context, d sale.Description) (Described, error) {
	before, err := l.readOpenSale(ctx, d.SaleID)
	if err != nil {
		return Described{}, err
	}
	after := d.Apply(before)
	if after == before {
		return Described{Sale: before}, nil
	}
	var out *dynamodb.UpdateItemOutput
	err = l.retry(ctx, patientTries, func(ctx context.Context) (err error) {
		out, err = l.api.UpdateItem(ctx, l.description(d, after))
		return err
	})
	if err != nil {
		return Described{}, asInternal(err)
	}
	after, err = readSale(out.Attributes)
	return Described{Sale: after, Applied: true}, asInternal(err)
}

// description writes the fields that are given. An open sale stays open for ever, so
// nothing has to be checked again.
func (l *Ledger) description(d sale.Description, after sale.Sale) *dynamodb.UpdateItemInput {
	update, set, remove := "ADD #version :one, #described :one", "", ""
	names, values := map[string]string{"#version": "version", "#described": "described"}, item{":one": num(1)}
	for _, field := range []struct {
		name  string
		given *string
		value string
	}{{"name", d.Name, after.Name}, {"image", d.Image, after.Image}, {"about", d.About, after.About}, {"link", d.Link, after.Link}} {
		switch {
		case field.given == nil:
			continue
		case field.value == "":
			remove += ", #" + field.name
		default:
			set += ", #" + field.name + " = :" + field.name
			values[":"+field.name] = str(field.value)
		}
		names["#"+field.name] = field.name
	}
	if set != "" {
		update += " SET " + strings.TrimPrefix(set, ", ")
	}
	if remove != "" {
		update += " REMOVE " + strings.TrimPrefix(remove, ", ")
	}
	return &dynamodb.UpdateItemInput{
		TableName: l.table, Key: saleKey(d.SaleID), UpdateExpression: aws.String(update),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
	}
}
