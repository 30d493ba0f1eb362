package explore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/proof/harness"
)

// told is what buyers, providers and readers of events were told of a claim: a restore must not
// undo that.
type told struct {
	claim      bool
	order, end string
}

// tell records what an answer says of the claim.
func (h *seenClaim) tell(b harness.ClaimBody) {
	h.told.claim = true
	if b.OrderID != "" {
		h.told.order = b.OrderID
	}
	if b.State == "PAID" || b.Released() {
		h.told.end = h.end
	}
}

// publishedEvents records what published events say of claims.
func (w *watch) publishedEvents(archive []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(archive)); lines.Scan(); {
		var e struct {
			Detail struct{ ClaimID, OrderID, Payment, ReleasedBy string }
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			w.violate("P26: %s: %v", lines.Text(), err)
		}
		if c := w.claims[e.Detail.ClaimID]; c != nil {
			c.told.claim, c.told.order, c.isPublished = true, e.Detail.OrderID, true
			if end := e.Detail.Payment + e.Detail.ReleasedBy; end != "" {
				c.told.end, c.isEndPublished = end, true
			}
		}
	}
}

// adopt takes the restored and replayed table for what was there all the time. A claim may be lost of
// which nobody was told, or of which no log line tells: its purchase has died, and so has whatever
// confirmed it. So may an order id that neither a log line nor an event tells. It returns how many are.
func (w *watchedSale) adopt(inLog func(ids ...string) bool) (lost int) {
	now, items := time.Now(), map[string]map[string]types.AttributeValue{}
	for _, it := range w.db.Items(harness.TableName) {
		pk, sk := harness.Text(it["pk"]), harness.Text(it["sk"])
		switch {
		case strings.HasPrefix(pk, "CLAIM#"+w.id+"#"):
			items[sk] = it
		case strings.HasPrefix(pk, "STOCK#"+w.id+"#"):
			w.adoptShard(pk+"|"+sk, it)
		case pk == "SALE#"+w.id && sk == "SALE":
			w.observeWindow(pk+"|"+sk, it)
		}
	}
	total := int64(0)
	for _, units := range w.stock {
		total += units
	}
	switch last := &w.emptySpans[len(w.emptySpans)-1]; {
	case w.total == 0 && total != 0:
		last.to = now
	case w.total != 0 && total == 0:
		w.emptySpans = append(w.emptySpans, span{from: now})
	}
	w.total = total
	for _, user := range harness.Sorted(w.claims) {
		known, it := w.claims[user], items[user]
		delete(items, user)
		id, order, end := harness.Text(it["claimId"]), harness.Text(it["orderId"]), harness.Text(it["payment"])+harness.Text(it["releasedBy"])
		switch {
		case it == nil && (!known.told.claim || !inLog(known.id)):
			lost, w.lost[user] = lost+1, true
			delete(w.claims, user)
			delete(w.watch.claims, known.id)
			continue
		case id != known.id:
			w.violate("P4: before the restore %s had claim %s (%+v), and after the replay %q", user, known.id, known.told, id)
			continue
		case order == "" && !known.isPublished && known.orderID != "" && !inLog(known.id, known.orderID):
			known.told.order = "" // nobody but its status told the order id: it gets a new one
		case order != known.orderID && (known.told.order != "" || known.orderID == ""):
			w.violate("P7: before the restore %s had order %q, told of %q, and after the replay %q", user, known.orderID, known.told.order, order)
		case end != "" && end != known.end && (known.isEndPublished || harness.IsPayment(end) || harness.IsPayment(known.end)):
			w.violate("P20: before the restore the claim of %s ended as %q, and after the replay as %q", user, known.end, end)
		}
		if known.orderID, known.end = order, end; end == "" {
			known.releasedAt = time.Time{}
		}
	}
	for user := range items {
		w.violate("P2: the replay made a claim of %s that never was", user)
	}
	w.answeredWindow = nil
	return lost
}

func (w *watchedSale) adoptShard(key string, it map[string]types.AttributeValue) {
	of := func(name string) int64 {
		n, _ := harness.Number(it[name])
		return n
	}
	if of("stock") < 0 {
		w.violate("P1: restored, %s has %d units", key, of("stock"))
	}
	w.stock[key] = of("stock")
	w.sold[key] = of("seeded") - of("stock") + of("putBack")
	w.observeWindow(key, it)
}

// adopt has the watch go on from the restored table.
func (m *simulation) adopt(archive []byte) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	m.n.unwatched = false
	m.watch.publishedEvents(archive)
	for _, s := range m.sales {
		m.watch.counts["lost-claims"] += s.watch.adopt(m.restoring.inLog)
		clear(s.applied)
		s.recallKnown = time.Time{}
	}
}

// checkTold checks how claims ended of which that was told, when the providers' payments are
// recorded again. A release that no event tells is lost, or gets another reason; of two payments of
// which no event tells, either pays the order.
func (m *simulation) checkTold() {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	for _, s := range m.sales {
		for _, user := range harness.Sorted(s.watch.claims) {
			c := s.watch.claims[user]
			if c.told.end != "" && c.end != c.told.end && (c.isEndPublished || harness.IsPayment(c.told.end) && !harness.IsPayment(c.end)) {
				m.watch.violate("P20: before the restore the claim of %s had ended as %q, and after it as %q", user, c.told.end, c.end)
			}
		}
	}
}
