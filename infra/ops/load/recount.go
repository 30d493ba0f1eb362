package load

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/books"
	"flashsale/infra/local/launch"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

// receiptTime bounds the recount.
const receiptTime = 5 * time.Minute

// recount is the result of the recount of a sale.
type recount struct {
	text         string
	made, broken bool
}

// receipt recounts the sale from the table, independently of the answers. A recount that fails counts as
// broken, too.
func (o *options) receipt(ctx context.Context, t trial, stderr io.Writer) recount {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	var db books.DynamoDB
	var err error
	switch {
	case o.open != nil:
		db, err = o.open(t.sale)
	case t.system.Local:
		db = launch.Table(t.system.DynamoDB)
	default:
		db = dynamodb.NewFromConfig(t.at.AWS)
	}
	var r *books.Receipt
	if err == nil {
		show, clear := cli.Progress(stderr, "claims")
		r, err = books.Recount(ctx, db, t.system.Table, t.sale, books.Options{Progress: show})
		clear()
	}
	if err != nil {
		return recount{text: "no receipt: " + cli.OneLine(target.Explain(err)).Error(), broken: true}
	}
	var text strings.Builder
	r.Print(&text)
	return recount{text: strings.TrimSpace(text.String()), made: true, broken: !r.Balanced}
}
