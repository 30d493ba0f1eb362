package books

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

var keep = flag.String("keep", "", "write what this release stores into testdata, under this name")

// kept are the sales that a release keeps for its successors.
var kept = map[string]func(*testing.T) *world{
	"sold": sold, "withdrawn": withdrawn, "settled": settled, "drained": drained, "grouped": grouped, "operated": operated, "recalled": recalledSale,
	"drawn": drawnSale,
}

// A stored sale is what a release has left behind: its items, the messages of its claims, and its events.
type stored struct {
	Now      time.Time
	Items    []storedItem
	Messages []string
	Events   []string
}

// storedItem is an item that is written in DynamoDB's JSON.
type storedItem item

func (i storedItem) MarshalJSON() ([]byte, error) { return dynamotest.JSON(i), nil }

func (i *storedItem) UnmarshalJSON(text []byte) error {
	var attributes map[string]struct {
		S, N   *string
		BOOL   *bool
		B      []byte
		SS, NS []string
	}
	if err := json.Unmarshal(text, &attributes); err != nil {
		return err
	}
	*i = storedItem{}
	for name, v := range attributes {
		switch {
		case v.S != nil:
			(*i)[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			(*i)[name] = &types.AttributeValueMemberN{Value: *v.N}
		case v.BOOL != nil:
			(*i)[name] = &types.AttributeValueMemberBOOL{Value: *v.BOOL}
		case v.B != nil:
			(*i)[name] = &types.AttributeValueMemberB{Value: v.B}
		case v.SS != nil:
			(*i)[name] = &types.AttributeValueMemberSS{Value: v.SS}
		case v.NS != nil:
			(*i)[name] = &types.AttributeValueMemberNS{Value: v.NS}
		}
	}
	return nil
}

// storedBy is what releases have left behind of a history: a file of testdata for each that has it.
func storedBy(t *testing.T, history string) (files map[string]stored) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no release has kept anything (%v)", err)
	}
	files = map[string]stored{}
	for _, name := range names {
		var all map[string]stored
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(all[history].Items) > 0 {
			files[filepath.Base(name)] = all[history]
		}
	}
	if len(files) == 0 {
		t.Fatalf("no release has kept the history %s", history)
	}
	return files
}

// store is what this release leaves behind.
func (w *world) store() stored {
	w.T.Helper()
	s := stored{Now: w.Now(), Events: w.published("moutai")}
	for _, it := range w.db.Items(tableName) {
		s.Items = append(s.Items, it)
		if k := keyOf(it); strings.HasPrefix(k.pk, "CLAIM#") {
			c, err := w.Ledger.Claim(w.Ctx, "moutai", k.sk)
			if err != nil {
				w.T.Fatal(err)
			}
			s.Messages = append(s.Messages, orderq.Encode(orderq.Of(c)))
		}
	}
	return s
}

// open is a world over the table that a release left behind.
func (s stored) open(t *testing.T) *world {
	t.Helper()
	all := items{}
	for _, it := range s.Items {
		all[keyOf(item(it))] = item(it)
	}
	db := load(t, all)
	w := &world{World: ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: tableName}), db: db, changes: 1000} // no id is given twice
	w.Pass(s.Now.Sub(w.Now()))
	ids := 0
	w.Ledger = ledger.New(db, tableName, ledger.Options{Now: w.Now, NewID: func() string { ids++; return fmt.Sprintf("later-%d", ids) }})
	return w
}

func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

func eventID(event map[string]any) any { return event["detail"].(map[string]any)["id"] }

// without are the members of old, at any depth, that now does not have, or has with another value.
func without(old, now map[string]any, path string) (missing []string) {
	for name, v := range old {
		inner, isObject := v.(map[string]any)
		if has, ok := now[name].(map[string]any); ok && isObject {
			missing = append(missing, without(inner, has, path+name+".")...)
		} else if !reflect.DeepEqual(v, now[name]) {
			missing = append(missing, fmt.Sprintf("%s%s: %v, not %v", path, name, now[name], v))
		}
	}
	return missing
}

func TestWhatEarlierReleasesStoredBalancesAndGoesOn(t *testing.T) {
	for history := range kept {
		for file, s := range storedBy(t, history) {
			t.Run(file+"/"+history, func(t *testing.T) {
				w := s.open(t)
				w.balanced()
				lines, now := w.published("moutai"), map[any]map[string]any{} // in any order
				for _, line := range lines {
					event := object(t, line)
					now[eventID(event)] = event
				}
				if len(lines) != len(s.Events) {
					t.Errorf("%d events, not %d", len(lines), len(s.Events))
				}
				for _, line := range s.Events {
					old := object(t, line)
					if missing := without(old, now[eventID(old)], ""); len(missing) > 0 {
						t.Errorf("the event %s differs now: %v", line, missing)
					}
				}
				var refs []ledger.ClaimRef
				for _, body := range s.Messages {
					m, err := orderq.Decode(body)
					if err != nil {
						t.Fatalf("%s: %v", body, err)
					}
					refs = append(refs, ledger.ClaimRef{SaleID: m.SaleID, User: m.User, ClaimID: m.ClaimID, Buckets: m.Buckets})
				}
				w.confirm(refs)
				if history != "drained" && history != "recalled" {
					w.add("later", 3)
				}
				if history != "drained" && history != "recalled" && history != "drawn" {
					w.confirm(w.buy(90, 2))
				}
				switch history {
				case "drawn":
					if call := w.calls(); call.Number != 4 || call.Open {
						t.Errorf("the next call is %+v, want that of the ninth person", call)
					}
					w.confirm(w.turns(9, 1))
				case "operated":
					w.goesOnInTheTrail()
				case "recalled":
					no := false
					if _, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: &no}); sale.CodeOf(err) != sale.Recalled {
						t.Errorf("a recalled sale is resumed: %v", err)
					}
					w.ReleasesBy(w.Ledger)
				case "settled":
					claim, err := w.Ledger.Claim(w.Ctx, "moutai", "user-8")
					if err != nil {
						t.Fatal(err)
					}
					if done := w.Settles(ledgertest.PaymentOf(claim.OrderID, "pi_90")); done.Refund != nil || !done.New {
						t.Errorf("an unpaid order's payment is %+v", done)
					}
					if done := w.Settles(ledgertest.PaymentOf(claim.OrderID, "pi_3")); done.Refund == nil || done.New {
						t.Errorf("the payment of a refund that is recorded is %+v", done)
					}
					w.ReleasesBy(w.Ledger)
				}
				w.Pass(time.Minute)
				w.balanced()
			})
		}
	}
}

// goesOnInTheTrail expects the trail of the history operated as it was stored, recognises the id
// of its last edit, and makes a further one.
func (w *world) goesOnInTheTrail() {
	w.T.Helper()
	before, _, err := w.Ledger.Trail(w.Ctx, "moutai", 100)
	if err != nil {
		w.T.Fatal(err)
	}
	by := map[string]sale.Author{}
	for _, c := range before {
		by[c.ID] = c.Author
	}
	kim := sale.Author{Actor: "kim", Verified: true, Note: "the price is wrong"}
	want := map[string]sale.Author{
		"pause-1": kim, "describe-1": kim, "batch-2": kim, "typo-1": {Actor: "ops"}, "later-1": {Actor: "ops"}, "resume-1": {}, "later": {},
	}
	if !maps.Equal(by, want) {
		w.T.Errorf("the trail names %v, not %v", by, want)
	}
	yes, no := true, false
	if again, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "resume-1", Paused: &no}); err != nil || again.Applied || again.Sale.Edits != 4 {
		w.T.Errorf("an id that was stored is applied again: %+v, %v", again, err)
	}
	if one, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: "pause-2", Paused: &yes}); err != nil || !one.Applied || one.Sale.Edits != 5 {
		w.T.Errorf("a further edit: %+v, %v", one, err)
	}
}

// A release that reads version n needs what its own items have, in every item without a higher minReader.
func TestEarlierReleasesReadWhatThisOneStores(t *testing.T) {
	for history, begin := range kept {
		written := begin(t).store()
		for file, s := range storedBy(t, history) {
			needed := map[string]map[string]string{} // by kind of item: type by attribute
			for _, it := range s.Items {
				kind, has := kindOf(keyOf(item(it))), map[string]string{}
				for name, v := range it {
					has[name] = fmt.Sprintf("%T", v)
				}
				if needed[kind] != nil {
					maps.DeleteFunc(has, func(name, _ string) bool { return needed[kind][name] == "" })
				}
				needed[kind] = has
			}
			for _, it := range written.Items {
				k := keyOf(item(it))
				if readable(item(it)) != nil {
					continue // it says that only later releases than the recount's may read it
				}
				for name, kind := range needed[kindOf(k)] {
					if fmt.Sprintf("%T", it[name]) != kind {
						t.Errorf("%s, %s: %v has no %s of type %s", file, history, k, name, kind)
					}
				}
			}
			for i, body := range s.Messages {
				if missing := without(object(t, body), object(t, written.Messages[i]), ""); len(missing) > 0 {
					t.Errorf("%s, %s: a message differs now: %v", file, history, missing)
				}
			}
		}
	}
}

// A release keeps what it stores before it is deployed: EXTENDING.md says how.
func TestKeep(t *testing.T) {
	all := map[string]stored{}
	for history, begin := range kept {
		all[history] = begin(t).store()
	}
	text, err := json.Marshal(all)
	if err != nil || len(all["settled"].Messages) < 5 {
		t.Fatalf("nothing to keep (%v)", err)
	}
	if *keep != "" {
		if err := os.WriteFile(filepath.Join("testdata", *keep+".json"), append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
