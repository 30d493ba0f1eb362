package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/orderid"
)

// flaws selects the ways in which a shop breaks its promises: enough to show that what infra/kit/verdict,
// infra/kit/books and the buyers find is on the receipt.
type flaws struct {
	oversells      bool // ignores the stock
	rewords        bool // answers a repeat differently
	neverConfirms  bool
	losesOrders    bool // stores no order items
	breaks         bool // answers some requests with an internal error
	dies           bool // has API Gateway answer some requests
	hidesStatus    bool // denies every order
	busyFirst      bool // not a flaw: answers "busy" to the first try of each buyer
	dropsSomeReply bool // not a flaw: closes some connections after accepting
}

// market is a simple implementation of a whole stack: API, Invoke API and DynamoDB's Scan in
// one handler.
type market struct {
	flaws
	mu       sync.Mutex
	saleID   string
	opened   time.Time
	stock    []int64
	seeded   []int64
	claims   []*sold
	requests map[string]int
	sequence uint64
}

type sold struct {
	user, key, id string
	shard         int
	at            time.Time
	orderID       uint64
}

func newMarket(f flaws) *market { return &market{flaws: f, requests: map[string]int{}} }

func (s *market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
	switch r.Method + " " + r.URL.Path {
	case "GET /_local/health":
		at := "http://" + r.Host
		answer(w, 200, map[string]string{"lambda": at, "dynamodb": at, "table": "ShopTable"})
	case "GET /_local/token":
		fmt.Fprintf(w, "token-of-%s\n", url.PathEscape(r.URL.Query().Get("sub")))
	case "POST /2015-03-31/functions/SeedFunction/invocations":
		s.create(w, r)
	case "POST /sales/" + s.saleID + "/orders":
		s.order(w, user, r.Header.Get("Idempotency-Key"))
	case "GET /sales/" + s.saleID + "/orders/me":
		s.status(w, user)
	case "POST /":
		s.scan(w)
	default:
		answer(w, 404, map[string]string{"message": "Not Found"})
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]any{"code": code, "status": status})
}

func (s *market) create(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Action, SaleID string
		Stock, Shards  int
	}
	if json.NewDecoder(r.Body).Decode(&c) != nil || c.Action != "create" {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, 200, map[string]string{"errorType": "invalid-request"})
		return
	}
	s.saleID, s.opened = c.SaleID, time.Now().Add(-time.Second)
	s.stock, s.seeded = make([]int64, c.Shards), make([]int64, c.Shards)
	for i := range c.Stock {
		s.stock[i%c.Shards]++
		s.seeded[i%c.Shards]++
	}
	answer(w, 200, map[string]any{"saleId": c.SaleID, "seeded": c.Stock, "shards": c.Shards, "applied": true})
}

func (s *market) held(user string) *sold {
	for _, c := range s.claims {
		if c.user == user {
			return c
		}
	}
	return nil
}

func (s *market) order(w http.ResponseWriter, user, key string) {
	s.requests[user]++
	n := s.requests[user]
	switch held := s.held(user); {
	case s.busyFirst && n == 1:
		refuse(w, 503, "busy")
		return
	case s.breaks && len(s.requests)%7 == 0:
		refuse(w, 500, "internal")
		return
	case s.dies && len(s.requests)%7 == 0:
		answer(w, 500, map[string]string{"message": "Internal Server Error"})
		return
	case held != nil:
		if key != "" && key == held.key {
			s.accept(w, held, s.rewords)
			return
		}
		answer(w, 409, map[string]any{"code": "already-ordered", "claim": s.body(held, true)})
		return
	}
	shard := s.open()
	if shard < 0 && s.oversells {
		shard = 0
	}
	if shard < 0 {
		refuse(w, 409, "sold-out")
		return
	}
	s.stock[shard]--
	c := &sold{user: user, key: key, id: "claim-" + strconv.Itoa(len(s.claims)), shard: shard, at: time.Now()}
	s.claims = append(s.claims, c)
	if s.dropsSomeReply && n == 1 && len(s.claims)%2 == 0 {
		panic(http.ErrAbortHandler)
	}
	s.accept(w, c, false)
}

func (s *market) open() int {
	for k, units := range s.stock {
		if units > 0 {
			return k
		}
	}
	return -1
}

func (s *market) body(c *sold, withOrder bool) map[string]string {
	b := map[string]string{"claimId": c.id, "saleId": s.saleID, "state": "PENDING", "acceptedAt": c.at.UTC().Format(time.RFC3339Nano)}
	if withOrder && c.orderID != 0 {
		b["state"], b["orderId"] = "CONFIRMED", orderid.String(c.orderID)
	}
	return b
}

func (s *market) accept(w http.ResponseWriter, c *sold, reword bool) {
	b := s.body(c, false)
	if reword {
		b["acceptedAt"] = "later"
	}
	answer(w, 202, b)
}

func (s *market) status(w http.ResponseWriter, user string) {
	c := s.held(user)
	if c == nil || s.hidesStatus {
		refuse(w, 404, "order-not-found")
		return
	}
	if c.orderID == 0 && !s.neverConfirms {
		s.sequence++
		c.orderID, _ = orderid.New(time.Now(), s.sequence)
	}
	answer(w, 200, s.body(c, true))
}

// scan returns every item, including some of another sale.
func (s *market) scan(w http.ResponseWriter) {
	text := func(v string) map[string]any { return map[string]any{"S": v} }
	number := func(n int64) map[string]any { return map[string]any{"N": strconv.FormatInt(n, 10)} }
	var items []map[string]any
	put := func(pk, sk string, attributes map[string]any) {
		attributes["pk"], attributes["sk"] = text(pk), text(sk)
		items = append(items, attributes)
	}
	window := func(more map[string]any) map[string]any {
		more["opensAt"], more["closesAt"] = number(s.opened.UnixMilli()), number(s.opened.Add(time.Hour).UnixMilli())
		return more
	}
	var total int64
	for k := range s.stock {
		total += s.seeded[k]
		put(fmt.Sprintf("STOCK#%s#%d", s.saleID, k), "STOCK", window(map[string]any{"stock": number(s.stock[k]), "seeded": number(s.seeded[k]),
			"paused": map[string]any{"BOOL": false}, "changedAt": number(0)}))
	}
	for id, state := range map[string]string{s.saleID: "OPEN", "other": "DRAFT"} {
		shards := int64(len(s.stock))
		put("SALE#"+id, "SALE", window(map[string]any{"name": text("x"), "paused": map[string]any{"BOOL": false}, "changedAt": number(0),
			"seeded": number(total), "shards": number(shards), "buckets": number((shards + 3) / 4), "version": number(1), "state": text(state)}))
		put("SALE#"+id, "CREATE", window(map[string]any{"name": text("x"), "stock": number(total), "shards": number(shards)}))
		put("SALES", id, map[string]any{"closesAt": number(s.opened.Add(time.Hour).UnixMilli())})
	}
	for _, c := range s.claims {
		it := map[string]any{"claimId": text(c.id), "shard": number(int64(c.shard)), "acceptedAt": number(c.at.UnixMilli())}
		if c.orderID != 0 {
			it["orderId"] = number(int64(c.orderID))
			if !s.losesOrders {
				put("ORDER#"+orderid.String(c.orderID), "ORDER", map[string]any{"saleId": text(s.saleID), "user": text(c.user), "claimId": text(c.id)})
			}
		}
		put("CLAIM#"+s.saleID+"#0", c.user, it)
	}
	put("SEQ#"+orderid.Day(time.Now()), "SEQ", map[string]any{"next": number(int64(s.sequence) + 1)})
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items)})
}

// offline keeps the SDK from reading configuration from outside the test.
func offline(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}
