package mutants

const (
	operatorTests     = "./infra/ops/operator"
	listingOrders     = "infra/ops/operator/orders.go"
	recordingPayments = "infra/ops/operator/record.go"
)

// ofTheShop break what a shop does after the sale.
var ofTheShop = []mutant{
	{"a cell of a list is a formula", "P19", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`strings.ContainsRune("=+-@`, `strings.ContainsRune("+-@`}}},
	{"two cells of a list look the same", "P19", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`\r'＝`, `\r＝`}}},
	{"a list of one state has all orders", "P24", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`if state != "" && c.State() != state {`, `if state == "none" {`}}},
	{"an order that an earlier release recorded as paid has no amount", "P24", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`if !c.PaidAt.IsZero() && c.Currency == "" {`, `if false {`}}},
	{"an order that is not paid has the price as its amount", "P24", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`if !c.PaidAt.IsZero() && c.Currency == "" {`, `if c.Currency == "" {`}}},
	{"a reader that leaves is a failure", "P19", operatorTests, "^TestAReaderThatLeaves", []edit{{listingOrders,
		`syscall.EPIPE):
		return nil`, `syscall.EPIPE):
		return flushed`}}},
	{"a list is kept until its end", "P16", operatorTests, "^TestAListOfAnyLength", []edit{{listingOrders,
		`bufio.NewWriter(out)`, `bufio.NewWriterSize(out, 1<<27)`}}},
	{"a claim that cannot be read hides others", "P19", ledgerTests, overFake + "^an_item_that_cannot_be_read_hides", []edit{{"shared/ledger/claims.go",
		`fmt.Errorf("%v: %w", identityOf(it), err))
				continue`, `fmt.Errorf("%v: %w", identityOf(it), err))
				break`}}},
	{"a claim that cannot be read is left out silently", "P19", ledgerTests, overFake + "^an_item_that_cannot_be_read_hides", []edit{{"shared/ledger/claims.go",
		`return cmp.Or(err, asInternal(unreadable))`, `return err`}}},
	{"a payment is recorded without being asked for", "P24", operatorTests, "^TestAPaymentThatWasNever", []edit{{recordingPayments,
		`	o, err := book.Order(ctx, p.OrderID)`, `	_, _ = book.Pay(ctx, p)
	o, err := book.Order(ctx, p.OrderID)`}}},
	{"a payment may have a provider that has no webhooks", "P24", operatorTests, "^TestAPaymentThatNoProvider", []edit{{recordingPayments,
		`!slices.Contains(webhook.Providers, p.Provider)`, `false`}}},
	{"Stripe's session passes for its payment", "P24", operatorTests, "^TestAPaymentThatNoProvider", []edit{{recordingPayments,
		`case p.Provider == webhook.Stripe && !strings.HasPrefix(p.Reference, "pi_"):`, `case p.Reference == "":`}}},
	{"a payment that is recorded is not checked", "P24", operatorTests, "^TestAPaymentThatNoProvider", []edit{{recordingPayments,
		`return p, p.Check()`, `return p, nil`}}},
	{"a payment that was recorded before is new", "P24", operatorTests, "^TestAPaymentThatWasNever", []edit{{recordingPayments,
		`	if !s.New {`, `	if false {`}}},
}
