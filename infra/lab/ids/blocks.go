package ids

import (
	"context"
	"time"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
)

// block is how many ids finalize reserves for a full batch of order messages.
const block = 25

// blocks is this project's way: one write reserves the numbers of a whole batch,
// under a second that is read before it.
func blocks() Generator {
	return Generator{
		Name: "flashsale", Does: "seconds, then the day's count; one write reserves a batch's", Needs: shop.DynamoDB,
		Open: func(_ context.Context, p shop.Place) (Issue, func() error, error) {
			l := ledger.New(engine.Client(p.DynamoDB), p.Table, ledger.Options{Now: time.Now})
			return func(ctx context.Context) ([]string, error) {
				reserved, err := l.ReserveOrderIDs(ctx, block)
				var out []string
				for _, id := range reserved {
					out = append(out, orderid.String(id))
				}
				return out, err
			}, nothingToClose, nil
		},
	}
}
