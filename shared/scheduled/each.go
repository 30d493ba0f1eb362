package scheduled

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that finds the sales.
type Ledger interface {
	Listings(context.Context) ([]ledger.Listing, error)
	Listing(ctx context.Context, saleID string) (ledger.Listing, error)
}

// Sales are those that an invocation is about.
type Sales struct {
	Listings []ledger.Listing
	// Named: the request names its only sale, and perhaps an action.
	Named  bool
	Action string
}

// SalesOf returns the sale that the request names, or all. Of a named sale the request may ask for
// one of these actions.
func SalesOf(ctx context.Context, l Ledger, raw []byte, actions ...string) (s Sales, err error) {
	saleID, action, err := saleOf(raw, actions...)
	switch {
	case err != nil:
		return Sales{}, err
	case saleID == "":
		s.Listings, err = l.Listings(ctx)
		return s, err
	}
	listing, err := l.Listing(ctx, saleID)
	return Sales{Listings: []ledger.Listing{listing}, Named: true, Action: action}, err
}

// Work is what an invocation does for each sale; i is the sale's index. Report and Draft are
// called for one sale at a time.
type Work struct {
	AtOnce int
	// Do does what there is to do, and reports whether its time ended before: then the sale has
	// another time slice, as often as the others leave time for it. It is not called for a sale whose
	// listing cannot be read.
	Do func(slice context.Context, i int) (cut bool, err error)
	// Report writes the line of a time slice that ended with that error.
	Report func(line *telemetry.Event, i int, err error)
	// Draft, unless nil, writes that of a sale that is still being created.
	Draft func(line *telemetry.Event, i int, draft *sale.DraftError)
}

// Each does the work for each sale. One that fails or panics does not stop the others; their
// errors are returned together. A draft is a failure only if the request names it.
func (s Sales) Each(ctx context.Context, event *telemetry.Event, w Work) error {
	var mu sync.Mutex
	var errs []error
	timeSlices(ctx, len(s.Listings), w.AtOnce, func(slice context.Context, i int) (cut bool) {
		slice, line := event.Part(slice)
		err := invocation.Try(func() (err error) {
			if err = s.Listings[i].Err; err == nil {
				cut, err = w.Do(slice, i)
			}
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		if draft, isDraft := errors.AsType[*sale.DraftError](err); isDraft && !s.Named {
			if w.Draft != nil {
				w.Draft(line, i, draft)
			}
			return false
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sale %s: %w", s.Listings[i].SaleID, err))
		}
		w.Report(line, i, err)
		return cut && err == nil
	})
	return errors.Join(errs...)
}
