package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	drawing "flashsale/functions/draw/handler"
	query "flashsale/functions/query/handler"
	"flashsale/infra/kit/dynamotest"
	local "flashsale/infra/local/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// drawFlaws selects the ways in which a draw breaks its promises.
type drawFlaws struct {
	forgets bool // loses somebody's entry
	forges  bool // shows another seed
	invites bool // tells somebody who was not called that they have bought
	refuses bool // tells somebody who was called that it is not their turn
	late    bool // begins the call long after the sale
}

// theatre is a stack with a draw over the real ledger, in real time, with the shortest times.
type theatre struct {
	drawFlaws
	db     *dynamotest.DB
	relay  *local.Relay
	book   *ledger.Ledger
	draw   *drawing.Handler
	query  *query.Handler
	saleID string
}

// short are its times.
var short = draw.Times{Settle: 400 * time.Millisecond, Dice: 400 * time.Millisecond, Gap: 800 * time.Millisecond}

func newTheatre(t *testing.T, f drawFlaws) *theatre {
	t.Helper()
	relay, err := local.New(local.Options{Seed: "test", Genesis: time.Now().Add(-time.Hour), Period: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	h := &theatre{drawFlaws: f, relay: relay, db: dynamotest.New(dynamotest.Table{Name: "ShopTable", PK: "pk", SK: "sk"})}
	h.book = h.environment()
	log := telemetry.New(io.Discard, "test", clock.Wall)
	h.draw = drawing.New(h.environment(), relay.Chain(), h, short, log, clock.Wall)
	h.query = query.New(h.environment(), log, clock.Wall)
	return h
}

func (h *theatre) environment() *ledger.Ledger {
	return ledger.New(h.db, "ShopTable", ledger.Options{Now: clock.Wall})
}

// Signature is the dice of the draw function.
func (h *theatre) Signature(_ context.Context, round uint64) ([]byte, error) {
	w := httptest.NewRecorder()
	h.relay.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/%s/public/%d", h.relay.Chain().Hash, round), nil))
	var signed struct{ Signature string }
	if err := json.Unmarshal(w.Body.Bytes(), &signed); err != nil {
		return nil, err
	}
	var signature []byte
	_, err := fmt.Sscanf(signed.Signature, "%x", &signature)
	return signature, err
}

func (h *theatre) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	mine := strings.TrimPrefix(r.URL.Path, "/sales/"+h.saleID)
	switch {
	case r.URL.Path == "/_local/health":
		at := "http://" + r.Host
		answer(w, 200, map[string]any{"lambda": at, "dynamodb": at, "table": "ShopTable", "beacon": h.relay.Chain()})
	case r.URL.Path == "/_local/token":
		fmt.Fprintf(w, "token-of-%s\n", r.URL.Query().Get("sub"))
	case strings.HasSuffix(r.URL.Path, "/SeedFunction/invocations"):
		h.create(ctx, w, r)
	case strings.HasSuffix(r.URL.Path, "/DrawFunction/invocations"):
		told, err := h.draw.Handle(ctx, json.RawMessage(`{"saleId":"`+h.saleID+`"}`))
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
		answer(w, 200, told)
	case r.URL.Path == "/":
		h.scan(w)
	case mine == "/entries/me":
		h.enter(ctx, w, user)
	case mine == "/orders":
		h.order(ctx, w, user)
	case mine == "/orders/me":
		h.confirm(ctx, w, user)
	case mine == "" || strings.HasPrefix(mine, "/roll/"):
		h.show(ctx, w, strings.TrimPrefix(mine, "/roll/"))
	default:
		answer(w, 404, map[string]string{"message": "Not Found"})
	}
}

func problem(w http.ResponseWriter, err error, saleID string) {
	p := httpapi.Problem(err, saleID)
	w.WriteHeader(p.StatusCode)
	_, _ = io.WriteString(w, p.Body)
}

func (h *theatre) create(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	var asked struct {
		SaleID                                   string
		Stock, Shards, KeepHours                 int64
		OpensAt, ClosesAt, EnterFrom, EnterUntil time.Time
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	c := sale.Creation{SaleID: asked.SaleID, Name: "x", Stock: asked.Stock, Shards: int(asked.Shards), OpensAt: asked.OpensAt, ClosesAt: asked.ClosesAt}
	c.EnterFrom, c.EnterUntil, c.KeepFor = asked.EnterFrom, asked.EnterUntil, time.Duration(asked.KeepHours)*time.Hour
	if err == nil {
		err = c.CheckDraw(leadTime)
	}
	if err == nil {
		_, err = h.book.Create(ctx, c)
	}
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, 200, map[string]string{"errorType": string(sale.CodeOf(err)), "errorMessage": err.Error()})
		return
	}
	h.saleID = c.SaleID
	answer(w, 200, map[string]any{"saleId": c.SaleID, "seeded": c.Stock, "shards": c.Shards})
}

func (h *theatre) enter(ctx context.Context, w http.ResponseWriter, user string) {
	e, err := h.book.Enter(ctx, h.saleID, user, short.Settle, nil)
	if err != nil {
		problem(w, err, "")
		return
	}
	if h.forgets && user == userName(3) {
		_, _ = h.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String("ShopTable"), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("ENTRY#%s#%02x", h.saleID, e.Leaf.Page())}, "sk": &types.AttributeValueMemberS{Value: user},
		}})
	}
	answer(w, 200, map[string]string{"nonce": e.Nonce.String(), "leaf": e.Leaf.String()})
}

func (h *theatre) order(ctx context.Context, w http.ResponseWriter, user string) {
	p, err := h.book.Purchase(ctx, ledger.Request{SaleID: h.saleID, User: user, Key: "demo"})
	switch {
	case h.invites && sale.CodeOf(err) == sale.NotYourTurn && user == userName(40): // an outsider
		answer(w, 202, map[string]string{"claimId": "invited", "saleId": h.saleID, "state": "PENDING"})
	case err == nil && h.refuses && p.Claim.Shard == 0:
		problem(w, sale.Refuse(sale.NotYourTurn, "no"), h.saleID)
	case err != nil:
		problem(w, err, h.saleID)
	default:
		answer(w, 202, map[string]string{"claimId": p.Claim.ID, "saleId": h.saleID, "state": "PENDING"})
	}
}

func (h *theatre) confirm(ctx context.Context, w http.ResponseWriter, user string) {
	c, err := h.book.Claim(ctx, h.saleID, user)
	if err != nil {
		problem(w, err, "")
		return
	}
	h.book.Confirm(ctx, []ledger.ClaimRef{{SaleID: h.saleID, User: user, ClaimID: c.ID}})
	if c, err = h.environment().Claim(ctx, h.saleID, user); err != nil {
		problem(w, err, "")
		return
	}
	answer(w, 200, httpapi.ClaimOf(c))
}

func (h *theatre) show(ctx context.Context, w http.ResponseWriter, page string) {
	r := httpapi.Request{RouteKey: "GET /sales/{saleId}"}
	r.Path.SaleID = h.saleID
	if page != "" {
		r.RouteKey, r.Path.Page = "GET /sales/{saleId}/roll/{page}", page
	}
	told, err := h.query.Handle(ctx, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body := told.Body
	if page == "" {
		var shown map[string]any
		_ = json.Unmarshal([]byte(body), &shown)
		if d, ok := shown["draw"].(map[string]any); ok && h.forges && d["seed"] != nil {
			d["seed"] = strings.Repeat("0", 64)
		}
		if h.late {
			shown["opensAt"] = httpapi.Time(time.Now().Add(-10 * time.Minute))
		}
		changed, _ := json.Marshal(shown)
		body = string(changed)
	}
	w.WriteHeader(told.StatusCode)
	_, _ = io.WriteString(w, body)
}

// scan answers with every item as DynamoDB does.
func (h *theatre) scan(w http.ResponseWriter) {
	items := []json.RawMessage{}
	for _, it := range h.db.Items("ShopTable") {
		items = append(items, dynamotest.JSON(it))
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Items": items, "Count": len(items), "ScannedCount": len(items)})
}

// drawAt runs a small demonstration of a draw.
func drawAt(t *testing.T, f drawFlaws) (code int, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(newTheatre(t, f))
	defer server.Close()
	var out, errs bytes.Buffer
	code = run(t.Context(), strings.Fields("-demo -draw -buyers 40 -stock 6 -shards 2 -inflight 8 -patience 20s -drain 20s -url "+server.URL), &out, &errs, false)
	return code, out.String(), errs.String()
}

func TestTheReceiptNamesThePromiseThatADrawBreaks(t *testing.T) {
	offline(t)
	enterTime, leadTime = 1500*time.Millisecond, 2500*time.Millisecond
	t.Cleanup(func() { enterTime, leadTime = 20*time.Second, 16*time.Second })
	for _, c := range []struct {
		name  string
		flaws drawFlaws
		want  string // the promises that are broken
	}{
		{"a draw that keeps its promises", drawFlaws{}, ""},
		{"one that loses an entry", drawFlaws{forgets: true}, "P27"},
		{"one whose order is forged", drawFlaws{forges: true}, "P28"},
		{"one that sells to somebody who was not called", drawFlaws{invites: true}, "P29"},
		{"one that has no bottle for somebody who was called", drawFlaws{refuses: true}, "P30"},
		{"one that begins late", drawFlaws{late: true}, "P31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := drawAt(t, c.flaws)
			if c.want == "" {
				for _, want := range []string{"the roll is closed: 40 entrants", "the dice have fallen", "call 1: those up to rank", "3 of the called have not come yet", "6 of 6 bottles", "40 of 40 entrants", "6 in turn, 54 refused", "6 called, 6 bought"} {
					if !strings.Contains(stdout, want) {
						t.Errorf("no %q", want)
					}
				}
				if code != exitFine || strings.Contains(stdout, "BROKEN") {
					t.Errorf("exit %d\n%s%s", code, stdout, stderr)
				}
				return
			}
			found := false
			for line := range strings.Lines(stdout) {
				found = found || strings.HasPrefix(line, "  "+c.want) && strings.HasSuffix(line, "BROKEN\n")
			}
			if code != exitBroken || !found {
				t.Errorf("exit %d, want %s broken\n%s%s", code, c.want, stdout, stderr)
			}
		})
	}
}

func TestAStackWithLongTimesSaysHowToStartAnother(t *testing.T) {
	// The stack asks for more time than the demonstration leaves.
	enterTime, leadTime = time.Second, 16*time.Second
	defer func() { enterTime, leadTime = 20*time.Second, 16*time.Second }()
	offline(t)
	h := newTheatre(t, drawFlaws{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/SeedFunction/invocations") {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			answer(w, 200, map[string]string{"errorType": "invalid-request", "errorMessage": "opensAt is too early"})
			return
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	if code := run(t.Context(), strings.Fields("-demo -draw -url "+server.URL), &out, &errs, false); code != exitNotRun || !strings.Contains(errs.String(), "started with PARAMETERS='DrawSettleSeconds=4 DrawDiceSeconds=6 DrawGapSeconds=6'") {
		t.Errorf("exit %d, %s", code, &errs)
	}
}

func TestADrawIsADemonstrationOfItsOwn(t *testing.T) {
	for _, arguments := range []string{"-draw", "-demo -draw -payments"} {
		if _, err := parse(strings.Fields(arguments), io.Discard); err == nil || !strings.Contains(err.Error(), "DRAW=1") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if o, err := parse(strings.Fields("-demo -draw"), io.Discard); err != nil || o.buyers != 500 || o.stock != 50 {
		t.Errorf("%+v, %v", o, err)
	}
}
