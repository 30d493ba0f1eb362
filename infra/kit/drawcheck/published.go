package drawcheck

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flashsale/infra/kit/drawcheck/rules"
)

// Sale is a sale with a draw, as GET /sales/{saleId} shows it.
type Sale struct {
	rules.Draw
	OpensAt, ClosesAt time.Time
	AsOf              time.Time // by the API's clock
}

// ErrNoDraw means that a sale has no draw.
var ErrNoDraw = errors.New("the sale has no draw")

// readSale reads the answer of GET /sales/{saleId}. It fails with ErrNoDraw.
func readSale(body []byte) (s Sale, err error) {
	var page struct {
		SaleID                 string
		OpensAt, ClosesAt, Now time.Time
		Draw                   *struct {
			rules.Draw
			Roll, Seed *rules.Digest
			Signature  string
		}
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return s, fmt.Errorf("read sale: %w", err)
	}
	d := page.Draw
	switch {
	case d == nil:
		return s, ErrNoDraw
	case (d.Roll == nil) != (d.Round == 0) || (d.Roll == nil) != d.ClosedAt.IsZero():
		return s, errors.New("read sale: of roll, round and closedAt it shows only a part")
	case (d.Seed == nil) != (d.Signature == ""):
		return s, errors.New("read sale: of seed and signature it shows one alone")
	}
	s = Sale{Draw: d.Draw, OpensAt: page.OpensAt, ClosesAt: page.ClosesAt, AsOf: page.Now}
	s.SaleID = page.SaleID
	if d.Roll != nil {
		s.Draw.Roll = *d.Roll
	}
	if d.Seed != nil {
		s.Draw.Seed = *d.Seed
		if s.Draw.Signature, err = hex.DecodeString(d.Signature); err != nil {
			return s, fmt.Errorf("read sale: the signature: %w", err)
		}
	}
	return s, nil
}

// readPage reads the answer of GET /sales/{saleId}/roll/{page}.
func readPage(body []byte) ([]rules.Leaf, error) {
	var page struct{ Leaves *[]rules.Leaf }
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	if page.Leaves == nil {
		return nil, errors.New("read page: it has no leaves")
	}
	return *page.Leaves, nil
}
