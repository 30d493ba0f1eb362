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
	open := openTable
	if o.open != nil {
		open = o.open
	}
	db, table, err := open(ctx, t)
	if err != nil {
		return recountOf(nil, err)
	}
	show, clear := cli.Progress(stderr, "claims")
	r, err := books.Recount(ctx, db, table, t.sale, books.Options{Progress: show})
	clear()
	return recountOf(r, err)
}

func recountOf(r *books.Receipt, err error) recount {
	if err != nil {
		return recount{text: "no receipt: " + cli.OneLine(target.Explain(err)).Error(), broken: true}
	}
	var text strings.Builder
	r.Print(&text)
	return recount{text: strings.TrimSpace(text.String()), made: true, broken: !r.Balanced}
}

// openTable opens the system's table.
func openTable(_ context.Context, t trial) (books.DynamoDB, string, error) {
	if t.system.Local {
		return launch.Table(t.system.DynamoDB), t.system.Table, nil
	}
	return dynamodb.NewFromConfig(t.at.AWS), t.system.Table, nil
}
