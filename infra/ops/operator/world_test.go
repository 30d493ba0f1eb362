package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"flashsale/functions/operate/handler"
	"flashsale/functions/operate/stack"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// world is a table with the real OperateFunction over it, as the environment dev has them.
type world struct {
	*testing.T
	db     *dynamotest.DB
	book   *ledger.Ledger
	invoke func(payload []byte) (answer []byte, err error) // OperateFunction
	target *target

	handler.Stack        // nobody asks for what is not here
	reconciles    string // what ReconcileFunction answers
	letters       [][]stack.DeadLetter
	settled       []string // dead letters that were sent back or deleted
}

func (w *world) Reconcile(_ context.Context, _, answer any) error {
	return json.Unmarshal([]byte(w.reconciles), answer)
}
func (w *world) Has(stack.Queue) bool                                 { return true }
func (w *world) Depth(context.Context, stack.Queue) (int64, error)    { return 7, nil }
func (w *world) Ringing(context.Context) (all []stack.Alarm, e error) { return nil, nil }
func (w *world) DeadLetters(context.Context) (some []stack.DeadLetter, err error) {
	if len(w.letters) > 0 {
		some, w.letters = w.letters[0], w.letters[1:]
	}
	return some, nil
}
func (w *world) SendBack(_ context.Context, d stack.DeadLetter) error {
	w.settled = append(w.settled, "back "+d.Body)
	return nil
}
func (w *world) Delete(_ context.Context, d stack.DeadLetter) error {
	w.settled = append(w.settled, "deleted "+d.Body)
	return nil
}

func newTable() *dynamotest.DB {
	return dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
}

// in runs a test at noon, in an empty world.
func in(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(noon))
		w := &world{T: t, db: newTable()}
		w.book = ledger.New(w.db, "T", ledger.Options{})
		h := handler.New(w.book, telemetry.New(io.Discard, "operate", time.Now), func() time.Time { return time.Now().Round(0) })
		h.Stack, h.Sends = w, true
		w.invoke = func(payload []byte) ([]byte, error) { return h.Invoke(context.WithoutCancel(t.Context()), payload) }
		w.target = invoking(func(payload []byte) ([]byte, error) { return w.invoke(payload) })
		w.target.db = w.db
		test(t, w)
	})
}

// selling runs a test of the sale moutai of c, on one shard, at 899 CNY to be paid within an hour.
func selling(t *testing.T, c sale.Creation, test func(t *testing.T, w *world)) {
	t.Helper()
	in(t, func(t *testing.T, w *world) {
		c.SaleID, c.Name, c.PayWithin, c.Price, c.Currency = "moutai", "Moutai", time.Hour, 89900, "CNY"
		w.create(c)
		test(t, w)
	})
}

// invoking is the environment dev, whose OperateFunction is invoked so.
func invoking(invoke func(payload []byte) (answer []byte, err error)) *target {
	return &target{where: &system.Flags{Env: "dev"}, found: &system.Target{System: client.System{Client: client.New("", client.Options{Invoke: func(_ context.Context, function string, payload []byte) (client.Answer, error) {
		if function != client.OperateFunction {
			return client.Answer{}, errors.New(function + " is asked")
		}
		answer, err := invoke(payload)
		if err != nil {
			return client.Read(http.StatusOK, http.Header{client.FunctionError: {"Unhandled"}}, fmt.Appendf(nil, `{"errorType":"Runtime.ExitError","errorMessage":%q}`, err)), nil
		}
		return client.Read(http.StatusOK, nil, answer), nil
	}})}}}
}

// answering is that with a function that has one answer to everything.
func answering(body string) *target {
	return invoking(func([]byte) ([]byte, error) { return json.Marshal(map[string]any{"statusCode": 200, "body": body}) })
}

// ok ends the test if what prepares it fails.
func (w *world) ok(_ any, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create creates sales, by default from noon on, for an hour, of ten units on one shard.
func (w *world) create(all ...sale.Creation) {
	w.Helper()
	for _, c := range all {
		if c.OpensAt.IsZero() {
			c.OpensAt, c.ClosesAt = noon, noon.Add(time.Hour)
		}
		c.Name, c.Stock, c.Shards = cmp.Or(c.Name, c.SaleID), cmp.Or(c.Stock, 10), cmp.Or(c.Shards, 1)
		w.ok(nil, c.Check())
		w.ok(w.book.Create(w.Context(), c))
	}
}

// sizes are boots-41 and boots-42, of the group boots; nobody gets a unit of the second any more.
func (w *world) sizes() {
	w.Helper()
	w.create(sale.Creation{SaleID: "boots-41", LimitGroup: "boots", Stock: 5}, sale.Creation{SaleID: "boots-42", LimitGroup: "boots", Stock: 5})
	w.ok(w.book.Recall(w.Context(), sale.Recall{SaleID: "boots-42", ChangeID: "r"}))
}

// ordered is the order id of a user who buys in moutai and is confirmed.
func (w *world) ordered(user string) string {
	w.Helper()
	p, err := w.book.Purchase(w.Context(), ledger.Request{SaleID: "moutai", User: user})
	w.ok(p, err)
	return orderid.String(w.book.Confirm(w.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: user, ClaimID: p.Claim.ID}})[0].Order.ID)
}

// pay pays an order with Stripe; without an order the payment is one of an unknown order.
func (w *world) pay(reference, order string, amount int64) {
	w.Helper()
	p := sale.Payment{Provider: "stripe", Reference: reference, Amount: amount, Currency: "CNY"}
	if order != "" {
		id, err := orderid.Parse(order)
		w.ok(id, err)
		p.SaleID, p.OrderID = "moutai", id
	}
	w.ok(w.book.Pay(w.Context(), p))
}

// drained waits until sales are over, audits them and marks them as drained.
func (w *world) drained(ids ...string) {
	w.Helper()
	time.Sleep(2 * time.Hour)
	for _, id := range ids {
		r, err := w.book.Step(w.Context(), &ledger.Audit{SaleID: id}, func(sale.Claim) {})
		w.ok(r, err)
		w.ok(w.book.Drain(w.Context(), r))
	}
}

func (w *world) remove(pk, sk string) {
	w.Helper()
	name := "T"
	w.ok(w.db.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}}))
}

// newer makes a sale one for a newer version.
func (w *world) newer(saleID string) {
	w.Helper()
	w.ok(nil, w.db.Tamper(w.Context(), "T", "SALE#"+saleID, "SALE", "minReader", 1000))
}

func file(t *testing.T, text string) string {
	t.Helper()
	return targettest.File(t, filepath.Join(t.TempDir(), "f"), text)
}

// at runs a command line on a target. Without an out, stdout is said with stderr, in their order.
func (p *target) at(ctx context.Context, stdin io.Reader, out io.Writer, words ...string) (said string, code int) {
	var where system.Flags
	if p.where != nil {
		where = *p.where
	}
	p.where = &system.Flags{}
	var both bytes.Buffer
	root := &cobra.Command{Use: "flashsale"}
	root.SetIn(cmp.Or(stdin, io.Reader(strings.NewReader(""))))
	root.SetOut(cmp.Or(out, io.Writer(&both)))
	root.SetErr(&both)
	p.where.Add(root.PersistentFlags())
	*p.where = where
	root.AddCommand(commandsAt(p)...)
	code = cli.Execute(ctx, root, words)
	return both.String(), code
}

// does runs a command line on a target, whose words are separated by blanks; more words may have some.
func (p *target) does(t *testing.T, command string, more ...string) (said string, code int) {
	t.Helper()
	return p.at(t.Context(), nil, nil, append(strings.Fields(command), more...)...)
}

func (w *world) data(command string) string {
	w.Helper()
	var out bytes.Buffer
	w.target.at(w.Context(), nil, &out, strings.Fields(command)...)
	return out.String()
}

// says checks what a command says, with any blanks as one, and its exit code.
func (p *target) says(t *testing.T, command string, code int, want ...string) (said string) {
	t.Helper()
	said, got := p.does(t, command)
	if got != code {
		t.Errorf("%s: exit %d, want %d, after\n%s", command, got, code, said)
	}
	contains(t, said, want...)
	return said
}

func (w *world) says(command string, code int, want ...string) string {
	w.Helper()
	return w.target.says(w.T, command, code, want...)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) && !strings.Contains(strings.Join(strings.Fields(text), " "), w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// seat is a terminal at which somebody types, after something has happened.
type seat struct {
	io.Reader
	happens func()
}

func (seat) OnTerminal() bool { return true }

func (s seat) Read(b []byte) (int, error) {
	if s.happens != nil {
		s.happens()
	}
	return s.Reader.Read(b)
}

func typing(text string) seat { return seat{Reader: strings.NewReader(text)} }
