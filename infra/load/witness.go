package main

import (
	"fmt"
	"sync"

	"flashsale/infra/client"
)

// mostFindings bounds what is told: one broken promise breaks for thousands.
const mostFindings = 20

// witness notices what a client can see of broken promises. It is safe for
// concurrent use.
type witness struct {
	mu       sync.Mutex
	stock    int            // units of the sale; 0 if not known
	claims   map[int]string // by buyer: the first claim they were told of
	accepted map[int]bool   // by buyer
	orders   map[string]int // by order id: whose
	ids      map[string]int // by claim id: whose
	found    []string
	more     int
}

func newWitness(stock int) *witness {
	return &witness{stock: stock, claims: map[int]string{}, accepted: map[int]bool{}, orders: map[string]int{}, ids: map[string]int{}}
}

func (w *witness) breaks(format string, args ...any) {
	if len(w.found) < mostFindings {
		w.found = append(w.found, fmt.Sprintf(format, args...))
	} else {
		w.more++
	}
}

// clicked takes the answer to a click of a buyer, and tells apart a repeat of an
// acceptance: the same answer to the same key, and no other unit.
func (w *witness) clicked(buyer int, o outcome, r client.Answer) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case o == wrong:
		w.breaks("buyer %d: a click was answered %s", buyer, r)
	case r.Claim.ClaimID != "":
		w.claim(buyer, r.Claim.ClaimID)
	}
	if o == accepted {
		if w.accepted[buyer] {
			return acceptedAgain
		}
		w.accepted[buyer] = true
	}
	return o
}

// polled takes the answer to a buyer's question for their own order.
func (w *witness) polled(buyer int, o outcome, r client.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o {
	case wrong:
		w.breaks("buyer %d: the status resource answered %s", buyer, r)
	case noSuchItem:
		if claim := w.claims[buyer]; claim != "" {
			w.breaks("P4: buyer %d was told of claim %s and then that there is none", buyer, claim)
		}
	case confirmed:
		w.claim(buyer, r.Claim.ClaimID)
		if other, taken := w.orders[r.Claim.OrderID]; taken && other != buyer {
			w.breaks("P7: buyers %d and %d have the same order id %s", other, buyer, r.Claim.OrderID)
		}
		w.orders[r.Claim.OrderID] = buyer
	case pending:
		w.claim(buyer, r.Claim.ClaimID)
	}
}

// claim: a buyer has one claim in a sale, forever, and nobody else has it.
func (w *witness) claim(buyer int, id string) {
	switch known := w.claims[buyer]; {
	case known != "" && known != id:
		w.breaks("P3: buyer %d was told of claim %s and of claim %s", buyer, known, id)
		return
	case known != "":
		return
	}
	w.claims[buyer] = id
	if other, taken := w.ids[id]; taken {
		w.breaks("P3: buyers %d and %d were told of the same claim %s", other, buyer, id)
	}
	w.ids[id] = buyer
	if w.stock > 0 && len(w.claims) == w.stock+1 {
		w.breaks("P1: more than %d buyers were told that they have one of %d units", w.stock, w.stock)
	}
}

// findings is every broken promise, some only counted.
func (w *witness) findings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == 0 {
		return w.found
	}
	return append(w.found[:len(w.found):len(w.found)], fmt.Sprintf("and %d more", w.more))
}
