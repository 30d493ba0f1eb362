package dynamotest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxToken = 36 // bytes
	// tokenLife is how long DynamoDB recognises a token after the transaction
	// has completed.
	tokenLife = 10 * time.Minute
)

// receipt is what DynamoDB remembers of a committed transaction with a token.
// A cancelled one leaves none: AWS does not say what its token means.
type receipt struct {
	fingerprint string
	until       time.Time
}

// counter makes tokens which differ: that is all the SDK's own promise too.
type counter struct{ n atomic.Int64 }

// GetIdempotencyToken is the SDK's IdempotencyTokenProvider.
func (c *counter) GetIdempotencyToken() (string, error) {
	return fmt.Sprintf("dynamotest-%d", c.n.Add(1)), nil
}

// withToken is the input as the SDK would send it.
func (db *DB) withToken(in *dynamodb.TransactWriteItemsInput, options []func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsInput, error) {
	o := dynamodb.Options{IdempotencyTokenProvider: &db.fills}
	for _, change := range options {
		change(&o)
	}
	if o.IdempotencyTokenProvider == nil || in.ClientRequestToken != nil {
		return in, nil
	}
	token, err := o.IdempotencyTokenProvider.GetIdempotencyToken()
	if err != nil {
		return nil, err
	}
	with := *in
	with.ClientRequestToken = aws.String(token)
	return &with, nil
}

// replay answers a transaction whose token is known: nil and no error if it is
// not. A repeat of a success reads the items instead of writing them.
func (db *DB) replay(tx *transaction, now time.Time) (any, error) {
	if tx.token == "" {
		return nil, nil
	}
	for _, p := range db.pending {
		if p.request.token == tx.token {
			return nil, &types.TransactionInProgressException{
				Message: aws.String("The transaction with the given request token is already in progress."),
			}
		}
	}
	known, ok := db.tokens[tx.token]
	if !ok {
		return nil, nil
	}
	if !now.Before(known.until) {
		delete(db.tokens, tx.token)
		return nil, nil
	}
	if known.fingerprint != tx.fingerprint {
		return nil, &types.IdempotentParameterMismatchException{
			Message: aws.String("The request uses the same client token as a previous, but non-identical request."),
		}
	}
	cost := map[string]float64{}
	for _, w := range tx.writes {
		cost[w.table.Name] += transactional * readUnits(w.table.current(w.key).size(), true)
	}
	return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: db.billTables(nil, cost, tx.asked)}, nil
}

func (db *DB) remember(tx *transaction, now time.Time) {
	if tx.token != "" {
		db.tokens[tx.token] = receipt{tx.fingerprint, now.Add(tokenLife)}
	}
}

// describe writes all that makes one write differ from another.
func (w *write) describe(out *strings.Builder, in writeInput) {
	fmt.Fprintf(out, "%d %q %q %q %q %q %q ", w.action, w.table.Name, w.key.pk, w.key.sk,
		aws.ToString(in.update), aws.ToString(in.condition), in.onFailure)
	for _, name := range slices.Sorted(maps.Keys(in.names)) {
		fmt.Fprintf(out, "%q=%q ", name, in.names[name])
	}
	for _, attributes := range []item{w.scope.values, w.item} {
		writeText(out, &types.AttributeValueMemberM{Value: attributes})
	}
	out.WriteString("\n")
}
