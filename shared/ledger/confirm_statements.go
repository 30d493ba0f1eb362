package ledger

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// statements are the texts of the batched writes, built once for the table. They use
// only what both DynamoDB and the local engine support: one SET with one assignment, IS
// MISSING instead of attribute_not_exists.
type statements struct{ setOrderText, insertOrderText *string }

func newStatements(table string) statements {
	return statements{
		setOrderText: aws.String(`UPDATE "` + table + `"` +
			` SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`),
		insertOrderText: aws.String(`INSERT INTO "` + table + `"` +
			` VALUE {'pk': ?, 'sk': ?, 'saleId': ?, 'user': ?, 'claimId': ?}`),
	}
}

// setOrder records the order id of a claim unless it has one or has another claim id.
func (s statements) setOrder(c *confirming, id uint64) types.BatchStatementRequest {
	c.orderPK.Value = orderPK(id)
	c.orderID.Value = c.orderPK.Value[len(orderPKHead):] // one string for both
	c.setOrder = [...]types.AttributeValue{&c.orderID, &c.pk, &c.user, &c.claimID}
	return types.BatchStatementRequest{
		Statement:                           s.setOrderText,
		Parameters:                          c.setOrder[:],
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// insertOrder puts the order item of a claim unless there is one.
func (s statements) insertOrder(c *confirming) types.BatchStatementRequest {
	if !c.New {
		c.orderPK.Value = orderPK(c.storedID)
	}
	c.insertOrder = [...]types.AttributeValue{&c.orderPK, orderSKValue, &c.saleID, &c.user, &c.claimID}
	return types.BatchStatementRequest{Statement: s.insertOrderText, Parameters: c.insertOrder[:]}
}

var orderSKValue = str(orderSK)
