package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	drawing "flashsale/functions/draw/handler"
	purchase "flashsale/functions/purchase/handler"
	query "flashsale/functions/query/handler"
	seeding "flashsale/functions/seed/handler"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	local "flashsale/infra/local/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// drawFlaws selects the ways in which a draw breaks its promises.
type drawFlaws struct {
	forgets bool // loses somebody's entry
	forges  bool // shows another seed
	invites bool // tells somebody who was not called that they have bought
	refuses bool // tells those who were called that it is not their turn
	late    bool // begins the call long after the sale
}

// theatre is a stack with a draw, made of its functions, in real time and with the shortest times.
type theatre struct {
	drawFlaws
	db    *dynamotest.DB
	relay *local.Relay
	seed  *seeding.Handler
	mux   http.ServeMux
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
	log := telemetry.New(io.Discard, "test", clock.Wall)
	h.seed = seeding.New(h.environment(), log, clock.Wall).Drawing(leadTime)
	draws := drawing.New(h.environment(), relay.Chain(), h, short, log, clock.Wall)
	buys := purchase.New(h.environment(), h, log, clock.Wall).Drawing(short)
	shows := query.New(h.environment(), log, clock.Wall)
	h.mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, r *http.Request) {
		at := "http://" + r.Host
		answer(w, 200, map[string]any{"lambda": at, "dynamodb": at, "table": "ShopTable", "beacon": relay.Chain()})
	})
	h.mux.HandleFunc("GET /_local/token", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "token-of-%s\n", r.FormValue("sub")) })
	h.mux.HandleFunc("POST /{$}", h.scan)
	const invoke = "POST /2015-03-31/functions/%s/invocations"
	h.mux.HandleFunc(fmt.Sprintf(invoke, client.SeedFunction), invoked(func(ctx context.Context, raw json.RawMessage) (any, error) { return h.seed.Handle(ctx, raw) }))
	h.mux.HandleFunc(fmt.Sprintf(invoke, client.DrawFunction), invoked(func(ctx context.Context, raw json.RawMessage) (any, error) { return draws.Handle(ctx, raw) }))
	for route, handle := range map[string]func(context.Context, httpapi.Request) (httpapi.Response, error){
		"PUT /sales/{saleId}/entries/me": buys.Handle, "POST /sales/{saleId}/orders": buys.Handle,
		"GET /sales/{saleId}/orders/me": shows.Handle, "GET /sales/{saleId}": shows.Handle, "GET /sales/{saleId}/roll/{page}": shows.Handle,
	} {
		h.mux.HandleFunc(route, h.asked(handle))
	}
	return h
}

func (h *theatre) environment() *ledger.Ledger {
	return ledger.New(h.db, "ShopTable", ledger.Options{Now: clock.Wall})
}

// Signature is the dice of DrawFunction.
func (h *theatre) Signature(_ context.Context, round uint64) ([]byte, error) {
	w := httptest.NewRecorder()
	h.relay.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/%s/public/%d", h.relay.Chain().Hash, round), nil))
	var signed struct{ Signature string }
	if err := json.Unmarshal(w.Body.Bytes(), &signed); err != nil {
		return nil, err
	}
	return hex.DecodeString(signed.Signature)
}

// Send is the order queue of PurchaseFunction: an order has its id at once.
func (h *theatre) Send(ctx context.Context, m orderq.Message) error {
	return h.environment().Confirm(ctx, []ledger.ClaimRef{{SaleID: m.SaleID, User: m.User, ClaimID: m.ClaimID}})[0].Err
}

// invoked answers as the Invoke API.
func invoked(handle func(context.Context, json.RawMessage) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body) // a request that is cut off is invalid
		told, err := handle(r.Context(), raw)
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			told = map[string]string{"errorType": string(sale.CodeOf(err)), "errorMessage": err.Error()}
		}
		answer(w, 200, told)
	}
}

// asked answers as API Gateway, with what the flaws make of a function's answer.
func (h *theatre) asked(handle func(context.Context, httpapi.Request) (httpapi.Response, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
		key := r.Header.Get("Idempotency-Key")
		request := httpapi.Request{RouteKey: r.Pattern, Sub: user, IdempotencyKey: httpapi.Header{Value: key, Given: key != ""}}
		request.Path.SaleID, request.Path.Page = r.PathValue("saleId"), r.PathValue("page")
		told, err := handle(r.Context(), request)
		body := map[string]any{}
		if err := errors.Join(err, json.Unmarshal([]byte(told.Body), &body)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, h.spoil(r, user, told.StatusCode, body), body)
	}
}

// spoil changes the body of an answer to a user as the flaws want it, and returns its status.
func (h *theatre) spoil(r *http.Request, user string, status int, body map[string]any) int {
	drawn, _ := body["draw"].(map[string]any)
	switch {
	case h.forgets && r.Method == http.MethodPut && user == userName(3):
		page := fmt.Sprintf("ENTRY#%s#%.2s", r.PathValue("saleId"), body["leaf"])
		_, _ = h.db.DeleteItem(r.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("ShopTable"), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: page}, "sk": &types.AttributeValueMemberS{Value: user},
		}})
	case h.invites && body["code"] == string(sale.NotYourTurn) && user == userName(40): // an outsider
		maps.Copy(body, map[string]any{"claimId": "invited", "saleId": r.PathValue("saleId"), "state": "PENDING"})
		return http.StatusAccepted
	case h.refuses && status == http.StatusAccepted:
		clear(body)
		body["code"] = sale.NotYourTurn
		return http.StatusForbidden
	case h.forges && drawn["seed"] != nil:
		drawn["seed"] = strings.Repeat("0", 64)
	case h.late && drawn != nil:
		body["opensAt"] = httpapi.Time(time.Now().Add(-10 * time.Minute))
	}
	return status
}

// scan answers with every item as DynamoDB does.
func (h *theatre) scan(w http.ResponseWriter, _ *http.Request) {
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
	server := httptest.NewServer(&newTheatre(t, f).mux)
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
	h.seed.Drawing(time.Minute)
	server := httptest.NewServer(&h.mux)
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
