package ledger

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// statements are the texts of the writes that go in batches, made once for the
// table. Only what both DynamoDB and the local engine read is in them: one SET
// with one assignment, IS MISSING instead of attribute_not_exists.
type statements struct{ setOrderText, insertOrderText *string }

func newStatements(table string) statements {
	return statements{
		setOrderText: aws.String(`UPDATE "` + table + `"` +
			` SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`),
		insertOrderText: aws.String(`INSERT INTO "` + table + `"` +
			` VALUE {'pk': ?, 'sk': ?, 'saleId': ?, 'user': ?, 'claimId': ?}`),
	}
}

// setOrder records the order id of a claim unless it has one or is another's.
func (s statements) setOrder(claim item, claimID string, orderID uint64) types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement:                           s.setOrderText,
		Parameters:                          []types.AttributeValue{num(int64(orderID)), claim[attrPK], claim[attrSK], str(claimID)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// insertOrder puts an order item unless there is one.
func (s statements) insertOrder(o sale.Order) types.BatchStatementRequest {
	it := orderItem(o)
	return types.BatchStatementRequest{
		Statement:  s.insertOrderText,
		Parameters: []types.AttributeValue{it[attrPK], it[attrSK], it["saleId"], it["user"], it["claimId"]},
	}
}
