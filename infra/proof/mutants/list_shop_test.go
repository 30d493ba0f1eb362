package mutants

const (
	operatorTests     = "./infra/ops/operator"
	shopTests         = "./infra/ops/consumers/shop"
	paymentPage       = "infra/ops/consumers/shop/shop.go"
	spreadsheetTests  = "./infra/kit/spreadsheet"
	writingLists      = "infra/kit/spreadsheet/spreadsheet.go"
	listingOrders     = "infra/ops/operator/orders.go"
	recordingPayments = "infra/ops/operator/record.go"
	changingSales     = "infra/ops/operator/change.go"
	askingOperate     = "infra/ops/operator/operate.go"
	listingSales      = "infra/ops/operator/sales.go"
)

// ofTheShop break what a shop does after the sale.
var ofTheShop = []mutant{
	{"a part of a cell is a formula", "P19", spreadsheetTests, "^TestEveryText", []edit{{writingLists,
		`";", ";'", `, ``}}},
	{"two cells of a list look the same", "P19", spreadsheetTests, "^TestEveryText", []edit{{writingLists,
		"`\"'` + inText", "`\"` + inText"}}},
	{"an amount of three digits is a thousand times as much in another language", "P19", spreadsheetTests, "^TestAnAmount", []edit{{writingLists,
		`len(text)-at == 4`, `len(text)-at == 9`}}},
	{"a recalled order is listed as paid", "P35", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`s.IsRecalled() && c.ReleasedAt`, `false && c.ReleasedAt`}}},
	{"a consumer takes a recalled order for paid", "P35", "./infra/ops/consumers/warehouse", "^TestTheExport", []edit{{"infra/ops/consumers/orderevent/orderevent.go",
		`return Recalled, 3`, `return Recalled, 2`}}},
	{"a warehouse learns an erased user again", "P36", "./infra/ops/consumers/warehouse", "^TestTheExport", []edit{{"infra/ops/consumers/warehouse/warehouse.go",
		`"attribute_not_exists(#user)"`, `"attribute_exists(orderId)"`}}},
	{"a mail says what an order no longer is", "P26", "./infra/ops/consumers/mailer", "^TestTheLastMail", []edit{{"infra/ops/consumers/mailer/mailer.go",
		`stateRank < :rank OR`, `stateRank <> :rank OR`}}},
	{"a list of one state has all orders", "P24", operatorTests, "^TestEveryOrderIsListed", []edit{{listingOrders,
		`if state != "" && stateOf(s, c) != state {`, `if state == "none" {`}}},
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
	{"a command's change is repeated under another id", "P9", operatorTests, "^TestALostAnswer", []edit{{changingSales,
		`	if _, given := values["id"]; !given {`, `	if true {`}}},
	{"a command does not repeat a lost answer", "P5", operatorTests, "^TestALostAnswer", []edit{{askingOperate,
		`	case err != nil:
		return err, !errors.Is(err, client.ErrNoFunctions)`, `	case err != nil:
		return err, false`}, {askingOperate,
		`a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError`, `false`}}},
	{"a command repeats what was refused", "P5", operatorTests, "^TestWhatMayPass", []edit{{askingOperate,
		`service.ErrorFault() != smithy.FaultClient || `, `true || `}}},
	{"a command forgets why", "P32", operatorTests, "^TestAnEnvironmentsSaleIsChanged", []edit{{changingSales,
		`		request["note"] = by.Note
`, ``}}},
	{"a recall is not asked for", "P35", operatorTests, "^TestARecallIsAskedFor", []edit{{changingSales,
		`a != "y" && a != "yes"`, `a == "n"`}}},
	{"a sale with wrong books is listed without an error", "P2", operatorTests, "^TestEverySaleIsListed", []edit{{listingSales,
		`"+s.SaleID, errBroken
`, `"+s.SaleID, nil
`}}},
	{"the payment page takes any link", "P25", shopTests, "^TestOnlyAnUnchanged", []edit{{paymentPage,
		`hmac.Equal(mac.Sum(nil), got) || valid`, `hmac.Equal(mac.Sum(nil), got) || true`}}},
	{"of the payment page's keys only the last counts", "P25", shopTests, "^TestOnlyAnUnchanged", []edit{{paymentPage,
		`range s.keys {`, `range s.keys[:1] {`}}},
	{"the payment page takes a link after its end", "P21", shopTests, "^TestOnlyAnUnchanged", []edit{{paymentPage,
		`	case !s.now().Before(payBy):`, `	case payBy.IsZero():`}}},
	{"the payment page answers under any name", "P25", shopTests, "^TestOnlyAnUnchanged", []edit{{paymentPage,
		`path != "/pay" || name != "127.0.0.1" && name != "localhost"`, `path != "/pay" || name == "none"`}}},
	{"the payment page keeps money reserved for a cancelled order", "P24", shopTests, "^TestMoneyIsCaptured", []edit{{paymentPage,
		`	case "refund-due":`, `	case "":`}}},
	{"the payment page does not report again", "P24", shopTests, "^TestMoneyIsCaptured", []edit{{paymentPage,
		`try < 4 && ctx`, `try < 1 && ctx`}}},
	{"the payment page makes a payment of each click", "P24", shopTests, "^TestMoneyIsCaptured", []edit{{paymentPage,
		`payment := "shop-" + link.Get("order")`, `payment := "shop-" + s.now().String()`}}},
	{"the payment page forgets the address", "P24", shopTests, "^TestMoneyIsCaptured", []edit{{paymentPage,
		`append(line, '\n')`, `line[:0]`}}},
}
