package mutants

const (
	operatorTests = "./infra/ops/operator"
	listingOrders = "infra/ops/operator/orders.go"
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
}
