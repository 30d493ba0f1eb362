package table

import (
	"context"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Update is an update of one item. In expressions "#a" names the attribute a.
type Update struct {
	Key       Item
	Expr      string
	If        string // the condition, or ""
	Values    Item
	Return    types.ReturnValue // of a call
	ReturnOld bool              // if the condition fails, return the item
}

// Action is the update as an action of a transaction.
func (t *Table) Action(u Update) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName: t.Name, Key: u.Key, UpdateExpression: &u.Expr, ConditionExpression: optional(u.If),
		ExpressionAttributeNames: NamesIn(u.Expr, u.If), ExpressionAttributeValues: u.Values,
		ReturnValuesOnConditionCheckFailure: returned(u.ReturnOld),
	}}
}

// UpdateWithin updates an item with that many tries and returns the attributes that u asks for, or
// the client's error if the condition refuses that. See Retry. unsure: a try had no answer, so that
// the update may have been applied, or may still be.
func (t *Table) UpdateWithin(ctx context.Context, tries int, u Update) (attributes Item, unsure bool, err error) {
	err = t.Retry(ctx, tries, func(ctx context.Context) error {
		out, err := t.API.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: t.Name, Key: u.Key, UpdateExpression: &u.Expr, ConditionExpression: optional(u.If),
			ExpressionAttributeNames: NamesIn(u.Expr, u.If), ExpressionAttributeValues: u.Values,
			ReturnValues: u.Return, ReturnValuesOnConditionCheckFailure: returned(u.ReturnOld),
		})
		if unsure = unsure || Judge(err) == Unknown; err == nil {
			attributes = out.Attributes
		}
		return err
	})
	return attributes, unsure, err
}

// TryUpdate updates an item, and returns the client's error if its condition refuses that.
func (t *Table) TryUpdate(ctx context.Context, u Update) error {
	_, _, err := t.UpdateWithin(ctx, PatientTries, u)
	return err
}

// Update updates an item unless its condition refuses that.
func (t *Table) Update(ctx context.Context, u Update) error {
	err := t.TryUpdate(ctx, u)
	if Judge(err) == Conditioned {
		return nil
	}
	return sale.AsInternal(err)
}

// Check is a condition on an item that a transaction does not write.
func (t *Table) Check(key Item, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: t.Name, Key: key, ConditionExpression: &condition,
		ExpressionAttributeNames: NamesIn(condition), ExpressionAttributeValues: values,
	}}
}

// Delete deletes an item inside a transaction, on a condition unless that is "".
func (t *Table) Delete(key Item, condition string, values Item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: t.Name, Key: key, ConditionExpression: optional(condition),
		ExpressionAttributeNames: NamesIn(condition), ExpressionAttributeValues: values,
	}}
}

// NamesIn returns the names in expressions with their attributes; nil if there are none.
func NamesIn(expressions ...string) map[string]string {
	names := map[string]string{}
	for _, text := range expressions {
		for at := strings.IndexByte(text, '#'); at >= 0; at = strings.IndexByte(text, '#') {
			rest := strings.TrimLeftFunc(text[at+1:], unicode.IsLetter)
			name := text[at : len(text)-len(rest)]
			names[name], text = name[1:], rest
		}
	}
	if len(names) == 0 {
		return nil // DynamoDB refuses an empty map
	}
	return names
}

func optional(expression string) *string {
	if expression == "" {
		return nil
	}
	return &expression
}

func returned(old bool) types.ReturnValuesOnConditionCheckFailure {
	if old {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return ""
}
