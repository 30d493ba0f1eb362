package books

import "time"

// recalled is the reason of a refund of a payment that has paid its order.
const recalled = "recalled"

// recallTime is how long after the last confirmation a recall may take, for each 100,000
// orders begun.
const recallTime = 5 * time.Minute

// open counts an order that is not finished if its sale was recalled: one that is neither
// paid nor released, or is paid and its payment does not go back.
func (p *pass) open(c Claim) {
	p.unrecalled++
	p.lastConfirmed = max(p.lastConfirmed, c.ConfirmedAt.UnixMilli())
}

// judgeRecall checks that every order of a recalled sale is finished, or soon will be (P35).
func (p *pass) judgeRecall(h *header) {
	at, l := h.sale.RecalledAt, &h.listing
	if at == 0 {
		p.findIf(l.Recalling != 0 || l.releasing && l.PayWithin == 0, "P35", "listing recalling",
			"the list of sales says that the sale is being recalled, but the sale was not recalled")
		return
	}
	p.findIf(!h.sale.Paused || h.sale.ChangedAt < at, "P35", "sale recalled",
		"the sale was recalled at %s, but its last edit is of %s, and it is paused: %t", clock(at), clock(h.sale.ChangedAt), h.sale.Paused)
	p.findIf(l.Recalling != 0 && l.Recalling != at, "P35", "listing recalling",
		"the list of sales says that the sale was recalled at %s, the sale says at %s", clock(l.Recalling), clock(at))
	p.findIf(l.Recalling != 0 && l.Drained, "P35", "recall drained", "the sale is drained, but its recall is not complete: reconcile does not look at it any more")
	bound := recallTime*time.Duration(1+p.total/100_000) + p.Overdue
	late := p.Now().Sub(time.UnixMilli(max(at, p.lastConfirmed)))
	switch was := p.before.listing.Recalling != 0; {
	case p.before.sale.RecalledAt == 0:
	case !was && p.unrecalled+p.pending > 0:
		p.find("P35", "recalled", "the recall is complete, but %d orders are neither released nor to be refunded, and %d have no id", p.unrecalled, p.pending)
	case was && p.unrecalled > 0 && late > bound:
		p.find("P35", "recalled", "%d orders are neither released nor to be refunded, %v after the recall and the last of their confirmations", p.unrecalled, late.Round(time.Second))
	case was:
		p.unfinish("the sale is being recalled: %d orders are neither released nor to be refunded, and %d have no id", p.unrecalled, p.pending)
	}
}
