package drawcheck

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Sale is a sale with a draw, as GET /sales/{saleId} shows it.
type Sale struct {
	ID                string
	OpensAt, ClosesAt time.Time
	EnterUntil        time.Time
	KeepFor           time.Duration
	// Roll, Entrants, Round and ClosedAt are zero until the roll is closed.
	Roll     Digest
	Entrants int64
	Round    uint64
	ClosedAt time.Time
	// Seed and Signature are zero until the dice have fallen.
	Seed      Digest
	Signature []byte
	Calls     []Call
}

// Call is a call as it is published.
type Call struct {
	Number int64     `json:"call"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Lo     Rank      `json:"lo"`
	// Hi is nil while the call is not complete.
	Hi *Rank `json:"hi"`
	// Stock is how many units were left when the call was completed; 0 also if it was given up.
	Stock int64 `json:"stock"`
	Open  bool  `json:"open"`
}

// callsNobody reports whether a call has come to nothing, so that the next one need not wait for
// its end.
func (c *Call) callsNobody() bool { return !c.Open && (c.Hi == nil || *c.Hi == c.Lo) }

// ErrNoDraw means that a sale has no draw.
var ErrNoDraw = errors.New("the sale has no draw")

// readSale reads the answer of GET /sales/{saleId}. It fails with ErrNoDraw.
func readSale(body []byte) (Sale, error) {
	var page struct {
		SaleID   string    `json:"saleId"`
		OpensAt  time.Time `json:"opensAt"`
		ClosesAt time.Time `json:"closesAt"`
		Draw     *struct {
			EnterUntil time.Time `json:"enterUntil"`
			KeepHours  int64     `json:"keepHours"`
			Roll       *Digest   `json:"roll"`
			Entrants   int64     `json:"entrants"`
			Round      uint64    `json:"round"`
			ClosedAt   time.Time `json:"closedAt"`
			Seed       *Digest   `json:"seed"`
			Signature  string    `json:"signature"`
			Calls      []Call    `json:"calls"`
		} `json:"draw"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return Sale{}, fmt.Errorf("read sale: %w", err)
	}
	if page.Draw == nil {
		return Sale{}, ErrNoDraw
	}
	d := page.Draw
	s := Sale{
		ID: page.SaleID, OpensAt: page.OpensAt, ClosesAt: page.ClosesAt, EnterUntil: d.EnterUntil, KeepFor: time.Duration(d.KeepHours) * time.Hour,
		Entrants: d.Entrants, Round: d.Round, ClosedAt: d.ClosedAt, Calls: d.Calls,
	}
	if (d.Roll == nil) != (d.Round == 0) || (d.Roll == nil) != d.ClosedAt.IsZero() {
		return Sale{}, errors.New("read sale: of roll, round and closedAt it shows only a part")
	}
	if (d.Seed == nil) != (d.Signature == "") {
		return Sale{}, errors.New("read sale: of seed and signature it shows one alone")
	}
	if d.Roll != nil {
		s.Roll = *d.Roll
	}
	if d.Seed != nil {
		var err error
		if s.Signature, err = hex.DecodeString(d.Signature); err != nil {
			return Sale{}, fmt.Errorf("read sale: the signature: %w", err)
		}
		s.Seed = *d.Seed
	}
	return s, nil
}

// readPage reads the answer of GET /sales/{saleId}/roll/{page}.
func readPage(body []byte) ([]Leaf, error) {
	var page struct {
		Leaves *[]Leaf `json:"leaves"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	if page.Leaves == nil {
		return nil, errors.New("read page: it has no leaves")
	}
	return *page.Leaves, nil
}
