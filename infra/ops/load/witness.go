package main

import (
	"fmt"
	"sync"

	"flashsale/infra/kit/client"
)

// mostFindings bounds the findings: a broken promise tends to affect thousands of buyers.
const mostFindings = 20

// witness checks the promises that a client can check. It is safe for concurrent use.
type witness struct {
	mu       sync.Mutex
	stock    int            // units of the sale; 0 if unknown
	claims   map[int]string // by buyer: the first claim in an answer
	accepted map[int]bool   // by buyer
	orders   map[string]int // by order id: its buyer
	ids      map[string]int // by claim id: its buyer
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

// clicked records the answer to a buyer's click. A repeated acceptance, which is the same
// answer to the same key and not another unit, becomes acceptedAgain.
func (w *witness) clicked(buyer int, o outcome, r client.Answer) outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case o == wrong:
		w.breaks("buyer %d: a click got the answer %s", buyer, r)
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

// polled records the answer to a buyer's status poll.
func (w *witness) polled(buyer int, o outcome, r client.Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch o {
	case wrong:
		w.breaks("buyer %d: the status resource gave the answer %s", buyer, r)
	case noSuchItem:
		if claim := w.claims[buyer]; claim != "" {
			w.breaks("P4: buyer %d got claim %s and later order-not-found", buyer, claim)
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

// unsettled records what became of an order, or of its late payment, if something else was due.
func (w *witness) unsettled(buyer int, o, want outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaks("P24: buyer %d's order or payment is %s, want %s", buyer, o, want)
}

// claim checks that a buyer always has the same claim and that no other buyer has it.
func (w *witness) claim(buyer int, id string) {
	switch known := w.claims[buyer]; {
	case known != "" && known != id:
		w.breaks("P3: buyer %d got claim %s and claim %s", buyer, known, id)
		return
	case known != "":
		return
	}
	w.claims[buyer] = id
	if other, taken := w.ids[id]; taken {
		w.breaks("P3: buyers %d and %d got the same claim %s", other, buyer, id)
	}
	w.ids[id] = buyer
	if w.stock > 0 && len(w.claims) == w.stock+1 {
		w.breaks("P1: more than %d buyers were accepted for %d units", w.stock, w.stock)
	}
}

// findings lists the broken promises and the number of those left out.
func (w *witness) findings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.more == 0 {
		return w.found
	}
	return append(w.found[:len(w.found):len(w.found)], fmt.Sprintf("and %d more", w.more))
}
