package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// contended is a table on which one transaction has contention: the reasons of some of
// its actions are replaced by a code.
type contended struct {
	db      *dynamotest.DB
	at      int    // the transaction, counted from 0; -1 for none
	actions uint   // a set of bits
	code    string // the reason of those actions
	sizes   []int  // how many actions each transaction had
}

func (i *contended) hook(_ string, in any, call func() (any, error)) (any, error) {
	transaction, ok := in.(*dynamodb.TransactWriteItemsInput)
	if !ok {
		return call()
	}
	i.sizes = append(i.sizes, len(transaction.TransactItems))
	if len(i.sizes)-1 != i.at {
		return call()
	}
	// The other actions have their real reasons.
	before := i.db.Snapshot()
	_, err := call()
	i.db.Restore(before)
	cancelled := &types.TransactionCanceledException{CancellationReasons: make([]types.CancellationReason, len(transaction.TransactItems))}
	for k := range cancelled.CancellationReasons {
		cancelled.CancellationReasons[k].Code = aws.String("None")
	}
	if refused, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		cancelled = refused
	}
	for k := range cancelled.CancellationReasons {
		if i.actions&(1<<k) != 0 {
			cancelled.CancellationReasons[k] = types.CancellationReason{Code: &i.code}
		}
	}
	return nil, cancelled
}

// unread is a table whose receipts of additions are not found by Query.
var unread = dynamotest.Instead("Query", func() (*dynamodb.QueryOutput, error) { return &dynamodb.QueryOutput{}, nil })

func TestContentionInEveryPositionIsTriedAgainAndNeverMisread(t *testing.T) {
	type call func(*ledgertest.World, ledger.API) (any, error)
	// made makes a call beforehand.
	made := func(first call) func(*ledgertest.World) {
		return func(w *ledgertest.World) {
			w.Open(4, 2)
			if _, err := first(w, w.Engine.API); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	hooked := func(api ledger.API, hooks []dynamotest.Hook) ledger.API {
		for _, hook := range hooks {
			api = dynamotest.WithHook(api, hook)
		}
		return api
	}
	create := func(stock int64) call {
		return func(w *ledgertest.World, api ledger.API) (any, error) {
			return w.EnvironmentOver(api).Create(w.Ctx, w.Sale(stock, 2))
		}
	}
	add := func(units int64, hooks ...dynamotest.Hook) call {
		return func(w *ledgertest.World, api ledger.API) (any, error) {
			return w.EnvironmentOver(hooked(api, hooks)).Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: units})
		}
	}
	withdraw := func(units int64, hooks ...dynamotest.Hook) call {
		return func(w *ledgertest.World, api ledger.API) (any, error) {
			return w.EnvironmentOver(hooked(api, hooks)).Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: units})
		}
	}
	edit := func(e sale.Edit) call {
		return func(w *ledgertest.World, api ledger.API) (any, error) {
			e.SaleID = "moutai"
			return w.EnvironmentOver(api).Edit(w.Ctx, e)
		}
	}
	buy := func(user string) call {
		return func(w *ledgertest.World, api ledger.API) (any, error) {
			p, err := w.EnvironmentOver(api).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
			p.Tries = 0
			return p, err
		}
	}
	none := func(*ledgertest.World) {}
	open := func(w *ledgertest.World) { w.Open(4, 2) }
	limited := func(w *ledgertest.World) {
		c := w.Sale(4, 2)
		c.MaxStock = 6
		w.Create(c)
	}
	sold := func(w *ledgertest.World) {
		w.Open(1, 1)
		w.Accepted(w.Buy("alice"))
	}
	now := ledgertest.Start
	for name, tt := range map[string]struct {
		given func(*ledgertest.World)
		call  call
		want  sale.Code
	}{
		"a creation":                          {none, create(4), ""},
		"a creation again":                    {open, create(4), ""},
		"a creation with other contents":      {open, create(5), sale.Conflicting},
		"an addition":                         {open, add(2), ""},
		"an addition again":                   {made(add(2)), add(2), ""},
		"an addition whose receipts are met":  {made(add(2)), add(2, unread), ""},
		"an addition of other units":          {made(add(2)), add(3), sale.Conflicting},
		"an addition up to the maxStock":      {limited, add(2), ""},
		"an addition beyond the maxStock":     {limited, add(3), sale.Conflicting},
		"a withdrawal":                        {limited, withdraw(3), ""},
		"a withdrawal of more than there is":  {open, withdraw(9), ""},
		"a withdrawal again":                  {made(withdraw(9)), withdraw(9), ""},
		"a withdrawal whose receipts are met": {made(withdraw(9)), withdraw(9, unread), ""},
		"a pause":                             {open, edit(sale.Edit{Paused: aws.Bool(true)}), ""},
		"a pause with an instant":             {open, edit(sale.Edit{Paused: aws.Bool(true), At: now}), ""},
		"a rescheduling":                      {open, edit(sale.Edit{OpensAt: now, ClosesAt: now.Add(time.Minute)}), ""},
		"a purchase":                          {func(w *ledgertest.World) { w.Open(4, 1) }, buy("alice"), ""},
		"a second purchase":                   {sold, buy("alice"), sale.AlreadyOrdered},
		"a purchase after the last one":       {sold, buy("bob"), sale.SoldOut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// run makes the call in a new world and returns the resulting contents.
				run := func(at int, actions uint, code string) (left string, sizes []int) {
					w, db, _ := faulty(t)
					tt.given(w)
					c := &contended{db: db, at: at, actions: actions, code: code}
					got, err := tt.call(w, dynamotest.WithHook(db, c.hook))
					if sale.CodeOf(err) != tt.want {
						t.Errorf("%s in %b of transaction %d: %v, want %q", code, actions, at, err, tt.want)
					}
					return fmt.Sprintf("%+v\n%s", got, db.Dump()), c.sizes
				}
				want, sizes := run(-1, 0, "")
				if len(sizes) == 0 {
					t.Fatal("no transaction")
				}
				for at, size := range sizes {
					for actions := range uint(1) << size {
						for _, code := range []string{"TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError", "TransactionInProgress"} {
							if actions == 0 {
								continue
							}
							// An existing claim comes first: no second try is needed.
							once := tt.want == sale.AlreadyOrdered && actions&2 == 0
							got, tries := run(at, actions, code)
							if got != want {
								t.Errorf("%s in %b of transaction %d leaves\n%s, want\n%s", code, actions, at, got, want)
							}
							if !once && len(tries) != len(sizes)+1 {
								t.Errorf("%s in %b of transaction %d: %d transactions, want %d", code, actions, at, len(tries), len(sizes)+1)
							}
						}
					}
				}
			})
		})
	}
}

// remove deletes an item behind the back of the ledger.
func remove(t *testing.T, db *dynamotest.DB, pk, sk string) {
	t.Helper()
	key := map[string]types.AttributeValue{"pk": text(pk), "sk": text(sk)}
	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key}); err != nil {
		t.Fatal(err)
	}
}

func TestAnEditWhoseAnswerWasLostFindsItselfInTheTrail(t *testing.T) {
	for _, reply := range []dynamotest.Reply{dynamotest.ReplyTimeout, dynamotest.ReplyInternalError, dynamotest.ReplyBrokenConnection} {
		for _, kind := range []dynamotest.Kind{dynamotest.LostReply, dynamotest.ApplyLate} {
			for id, at := range map[string]time.Time{"": {}, "mine": ledgertest.Start} {
				w, db, next := faulty(t)
				w.Open(4, 2)
				next(dynamotest.Fault{Kind: kind, Reply: reply})
				// The clock advances with every reading.
				ticking := ledger.New(db, table, ledger.Options{Now: func() time.Time { w.Pass(time.Millisecond); return w.Now() }})
				got, err := ticking.Edit(w.Ctx, sale.Edit{SaleID: "moutai", ChangeID: id, At: at, Paused: aws.Bool(true)})
				if err != nil || !got.Applied || !got.Sale.Paused {
					t.Errorf("fault %v, reply %v: got %+v (%v), want it applied", kind, reply, got, err)
				}
				before := db.Dump()
				db.ApplyPending()
				if got.Sale.Version != 2 || got.Sale.Edits != 1 || db.Dump() != before {
					t.Errorf("fault %v, reply %v: version %d, want 2: the edit applied once", kind, reply, got.Sale.Version)
				}
			}
		}
	}
}

// patience is how often a call is tried if no client waits.
const patience = 24

func TestAnEditThatAlwaysLosesTheRaceOrMeetsContentionIsBusyInTheEnd(t *testing.T) {
	for name, meets := range map[string]func(w *ledgertest.World) dynamotest.Fault{
		"loses the race": func(w *ledgertest.World) dynamotest.Fault {
			if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(false)}); err != nil {
				t.Error(err)
			}
			return dynamotest.Fault{}
		},
		"meets contention": func(*ledgertest.World) dynamotest.Fault { return dynamotest.Fault{Kind: dynamotest.Conflict} },
	} {
		synctest.Test(t, func(t *testing.T) {
			w, db, _ := faulty(t)
			w.Open(4, 2)
			tries, inside := 0, false
			db.Fault = dynamotest.On("TransactWriteItems", "", func(dynamotest.Call) dynamotest.Fault {
				if inside { // the edit that wins
					return dynamotest.Fault{}
				}
				tries, inside = tries+1, true
				defer func() { inside = false }()
				return meets(w)
			})
			_, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
			if w.Refused(sale.Busy, err); tries != patience {
				t.Errorf("%s: %d tries, want %d (P16)", name, tries, patience)
			}
		})
	}
}

func TestAnOrderIDsSecondAndItsDayAreOfOneInstant(t *testing.T) {
	// The reservation of one environment takes until the next day, in whose first
	// second another environment takes that day's first number (P7).
	w, _, _ := faulty(t)
	midnight := ledgertest.Start.Truncate(24 * time.Hour).Add(24 * time.Hour)
	w.Pass(midnight.Add(-time.Second).Sub(w.Now()))
	slow := w.Hooked(dynamotest.Before("UpdateItem", func() { w.Pass(midnight.Sub(w.Now())) }))
	before, err := slow.ReserveOrderIDs(w.Ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := w.Environment().ReserveOrderIDs(w.Ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if before[0] == after[0] {
		t.Errorf("order id %d is issued twice", before[0])
	}
	if got := orderid.Time(before[0]); !got.Equal(midnight.Add(-time.Second)) {
		t.Errorf("the first id says %v, want the second in which its reservation began", got)
	}
}

func TestAnUnexpectedErrorAfterAnUnknownOutcomeIsBusy(t *testing.T) {
	// The unit may be the user's: "internal" would mean that nothing was bought (P5).
	for name, unexpected := range map[string]error{
		"the table is gone":        &types.ResourceNotFoundException{},
		"a reason that none knows": &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("SomethingNew")}, {Code: aws.String("None")}}},
	} {
		w, _, _ := faulty(t)
		w.Open(10, 2)
		tries := 0
		failing := dynamotest.Instead("TransactWriteItems", func() (*dynamodb.TransactWriteItemsOutput, error) {
			if tries++; tries == 1 {
				return nil, errors.New("the connection broke")
			}
			return nil, unexpected
		})
		_, err := w.Hooked(failing).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
		if sale.CodeOf(err) != sale.Busy || tries != 2 {
			t.Errorf("%s: got %v after %d tries, want busy after 2", name, err, tries)
		}
		tries = 1 // the outcome of no try is unknown
		_, err = w.Hooked(failing).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"})
		if sale.CodeOf(err) != sale.Internal {
			t.Errorf("%s: got %v at the first try, want internal", name, err)
		}
	}
}
