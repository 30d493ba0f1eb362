package mutants

import "strings"

const (
	releaseTests   = "./functions/release/handler"
	releaseHandler = "functions/release/handler/handler.go"
	listing        = "shared/ledger/listing.go"
	turns          = "shared/scheduled/turns.go"
	refundsDue     = "functions/reconcile/handler/refunds.go"

	// cursors begins the storing of how far a pass came.
	cursors = `	names["#sealedAt"] = "sealedAt"
	err := l.retry(ctx, patientTries, `
	// ending begins the storing of a pass's end.
	ending = `names map[string]string, values item) error {
	err := l.retry(ctx, patientTries, `
)

// ofReleasing break the function that releases and what reconcile says of refunds.
var ofReleasing = []mutant{
	{"a unit that is sold again is counted as oversold", "P11", reconciling, "^TestAnOversell", []edit{{"functions/reconcile/handler/receipt.go",
		`r.Claims-r.Released-r.Seeded`, `r.Claims-r.Seeded`}}},
	{"a sale is drained with unpaid orders", "P11", ledgerTests, overFake + "^a_sale_that_asks", []edit{{auditing,
		`r.Finished && a.Unpaid == 0`, `r.Finished`}}},
	{"a sale is drained before its released units are back", "P11", ledgerTests, overFake + "^a_sale_that_asks", []edit{{auditing,
		`r.Finished && one.putBack == one.released`, `r.Finished`}}},
	{"nobody compares the released claims with the shards", "P2", ledgerTests, overFake + "^released_claims", []edit{{auditing,
		`	if a.Released < a.ReleasedBefore || a.Released > r.Released {`, `	if false {`}}},
	{"finalize gives up while it has time", "P8", ledgerTests, "^TestAConfirmationWaitsForAnExhaustedTable", []edit{{"shared/ledger/confirm.go",
		`len(positions) > 0 && l.backOffUpTo(`, `false && l.backOffUpTo(`}}},
	{"a claim that needs a second round counts as confirmed before", "P9", ledgerTests, "^TestAConfirmationWaitsForAnExhaustedTable", []edit{{"shared/ledger/confirm.go",
		`			c.New = c.New || out[i].New
`, ``}}},
	{"where no client waits, a call is tried no more than a purchase's", "P11", ledgerTests, "^TestAnEditThatMeetsContention", []edit{{"shared/ledger/retry.go",
		`patientTries = 24`, `patientTries = 6`}}},
	{"a claim that is due later hides one that is due first", "P22", ledgerTests, "^TestAPassThatIsResumed", []edit{{releasing,
		`by.Before(next.NextPayBy)`, `by.After(next.NextPayBy)`}}},
	{"a resumed pass forgets what was due behind its cursor", "P22", ledgerTests, "^TestAPassThatIsResumed", []edit{{releasing,
		`p.pass = *listing.Releasing`, `p.pass = *listing.Releasing; p.pass.NextPayBy = time.Time{}`}}},
	{"a resumed pass counts as one that has just begun", "P22", ledgerTests, "^TestAPassThatIsResumed", []edit{{releasing,
		`p.pass = *listing.Releasing`, `p.pass = *listing.Releasing; p.pass.Began = now`}}},
	{"a resumed pass remembers the sale", "P22", ledgerTests, "^TestAPassThatIsResumed", []edit{{releasing,
		`	if mayBeDue {
`, `	if mayBeDue && listing.Releasing == nil {
`}}},
	{"what is due is what was due when the pass began", "P22", ledgerTests, "^TestAPassThatIsResumed", []edit{{releasing,
		`	now := p.now()
`, `	now := p.pass.Began
`}}},
	{"a further turn of release begins again", "P22", releaseTests, "^TestASaleThatIsCutOffGoesOn", []edit{{releaseHandler,
		`		if again {
`, `		if false {
`}}},
	{"a sale that fails has a further turn", "P22", releaseTests, "^TestASaleThatFailsAtTheEnd", []edit{{releaseHandler,
		`saleErr == nil && !done.Complete`, `!done.Complete`}}},
	{"release passes over listings that it cannot read", "P19", releaseTests, "^TestAListingThatCannotBeRead", []edit{{releaseHandler,
		`l.Err == nil && l.PayWithin == 0`, `l.PayWithin == 0`}}},
	{"a busy table's units count as put back", "P23", ledgerTests, "^TestAUnitThatTheBusyTable", []edit{{"shared/ledger/release.go",
		`		if reasons == nil {
			return units, asInternal(err)`, `		if reasons == nil {
			if sale.CodeOf(err) == sale.Busy {
				err = nil
			}
			return units, asInternal(err)`}}},
	{"a drained sale is listed for nine days after its refund", "P24", ledgerTests, overFake, []edit{{listing,
		`RefundsFor = 90 * 24`, `RefundsFor = 9 * 24`}}},
	{"refunds of a sale with a price alone are not counted", "P24", ledgerTests, "^TestARefundOfASaleThatHasAPrice", []edit{{auditing,
		`s.PayWithin == 0 && s.Price == 0 && a.Paid == 0`, `s.PayWithin == 0 && a.Paid == 0`}}},
	{"refunds of a sale that asks for no payment are not counted", "P24", ledgerTests, overFake + "^a_sale_that_asks_for_no_payment_is_recalled", []edit{{auditing,
		`s.PayWithin == 0 && s.Price == 0 && a.Paid == 0`, `s.PayWithin == 0 && s.Price == 0`}}},
	{"the pause after a refusal read that failed begins with that read", "P16", ledgerTests, "^TestARefusalReadThatFails", []edit{{readingBeforeRefusal,
		`Store(p.ledger.now().UnixNano())`, `Store(now.UnixNano())`}}},
	{"a batch's delay is its last event's", "P26", "./functions/publish/handler", "^TestABatchIsALine", []edit{{"functions/publish/handler/handler.go",
		`max(t.delay, now.Sub(r.at))`, `now.Sub(r.at)`}}},
	{"a secret keeps the space behind it", "P25", "./functions/pay/handler", ".", []edit{{"functions/pay/handler/providers.go",
		`strings.TrimSpace(secret)`, `strings.TrimLeft(secret, " ")`}}},
	{"release knows no grace", "P21", releaseTests, "^TestAPassIsALine", []edit{{releaseHandler,
		`h.book.ReleaseDue(ctx, listing, h.grace)`, `h.book.ReleaseDue(ctx, listing, 0)`}}},
	{"claims of a paused sale count as overdue", "P22", releaseTests, "^TestAPausedSaleHasOneTurn", []edit{{releasing,
		`	if s.Paused {
		if isAhead {`, `	if false {
		if isAhead {`}}},
	{"release does not store how far it came", "P22", releaseTests, "^TestASaleThatIsCutOffGoesOn", []edit{{releasing,
		`	return p.saveCursors(ctx, p.sale.ID, map[string]any{"releasing": p.pass})`, `	return nil`}}},
	{"a table that is busy for a second fails a run of release", "P16", releaseTests, "^TestATableThatIsBusy", []edit{{listing,
		ending, strings.Replace(ending, "patientTries", "maxTries", 1)}}},
	{"release fails because it cannot store how far it came", "P16", ledgerTests, "^TestAPassThatCannotStore", []edit{{listing,
		`err = asInternal(err); sale.CodeOf(err) == sale.Busy {`, `err = asInternal(err); err == nil {`}}},
	{"a table that is busy for a second costs reconcile its pass", "P16", reconciling, "^TestATableThatIsBusy", []edit{{listing,
		cursors, strings.Replace(cursors, "patientTries", "maxTries", 1)}}},
	{"a table that is busy for a second keeps a message from being sent again", "P8", reconciling, "^TestATableThatIsBusy", []edit{{"shared/ledger/claims.go",
		`l.retry(ctx, patientTries, `, `l.retry(ctx, maxTries, `}}},
	{"reconcile fails because it cannot store its pass", "P16", reconciling, "^TestAPassThatCannotBeStored", []edit{{listing,
		`err = asInternal(err); sale.CodeOf(err) == sale.Busy {`, `err = asInternal(err); err == nil {`}}},
	{"a buyer waits for a claim to be marked", "P16", "./functions/purchase/handler", "^TestMarkingAClaim", []edit{{"functions/purchase/handler/handler.go",
		`context.WithTimeout(ctx, markTime)`, `context.WithCancel(ctx)`}}},
	{"a mark without an answer keeps its message from being sent", "P8", "./functions/purchase/handler", "^TestAMessageIsSentWhenTheMark", []edit{{"shared/ledger/claims.go",
		`if err == nil || unsure {`, `if err == nil {`}}},
	{"a mark is judged by its last try", "P8", ledgerTests, "^TestAMarkThatMayBeWritten", []edit{{"shared/ledger/claims.go",
		`unsure = unsure || judge(err) == unknown`, `unsure = judge(err) == unknown`}}},
	{"a run of release that is cut off fails", "P22", releaseTests, "^TestARunWhoseTimeEnds", []edit{{releaseHandler,
		`sale.CodeOf(saleErr) == sale.Busy && !invocation.Outlasts(turn, callTime)`, `false`}}},
	{"one huge sale takes the time of all releases", "P22", releaseTests, "^TestASaleThatIsCutOffGoesOn", []edit{{turns,
		`(len(left)-j+atOnce-1)/atOnce`, `1+0*j`}}},
	{"a large release has one turn a run", "P22", releaseTests, "^TestALargePassEnds", []edit{{turns,
		`return !cut[i] })`, `return true })`}}},
	{"what idle sales leave over is for the release that was due last", "P22", releaseTests, "^TestTheSaleThatWasDueFirst", []edit{{releaseHandler,
		`return b.NextPayBy.Compare(a.NextPayBy)`, `return a.NextPayBy.Compare(b.NextPayBy)`}}},
	{"a paused sale has turns until the run ends", "P22", releaseTests, "^TestAPausedSaleHasOneTurn", []edit{{releaseHandler,
		` && !invocation.Outlasts(turn, restOfTurn)`, ``}}},
	{"release stops at the first sale that fails", "P22", releaseTests, "^TestASaleThatFails", []edit{{releaseHandler,
		`			errs = append(errs, fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
`, `			panic(fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
`}}},
	{"release reads drained sales for ever", "P22", releaseTests, "^TestADrainedSale", []edit{{releaseHandler,
		`return l.Drained || `, `return `}}},
	{"release reads sales that ask for no payment", "P22", releaseTests, "^TestSalesThatAskForNoPayment|^TestEverySaleThatAsks", []edit{{releaseHandler,
		`l.Err == nil && l.PayWithin == 0 && !l.Recalling })`, `false })`}}},
	{"refunds of drained sales are forgotten", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refundsDue,
		`for _, l := range drained {`, `for _, l := range drained[:0] {`}}},
	{"refunds of unknown orders are forgotten", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refundsDue,
		`h.refunds = append(h.refunds, &ledger.RefundCount{})`, `h.refunds = []*ledger.RefundCount{}`}}},
	{"refunds that were made are due for ever", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refunding,
		`refund.RefundedAt.IsZero() {`, `true {`}}},
	{"reconcile counts refunds one sale after the other", "P11", reconciling, "^TestRefundsOfAThousand", []edit{{refundsDue,
		`refundsAtOnce = 16`, `refundsAtOnce = 1`}}},
	{"counting refunds takes a run's whole time", "P11", reconciling, "^TestACountOfRefundsThatIsCutOff", []edit{{reconcile,
		`context.WithTimeout(turn, refundTime)`, `context.WithCancel(turn)`}}},
	{"a count of refunds that is not complete is published", "P11", reconciling, "^TestACountOfRefundsThatIsCutOff", []edit{{refundsDue,
		`case left > 0:`, `case left < 0:`}}},
	{"a count of refunds that is cut off begins anew", "P11", reconciling, "^TestACountOfRefundsThatIsCutOff", []edit{{refundsDue,
		`if h.refunds == nil {`, `if h.refunds = nil; h.refunds == nil {`}}},
	{"a release whose clock was ahead delays later ones", "P22", ledgerTests, overFake + "^a_pass_whose_clock_is_ahead", []edit{{releasing,
		`mayBeDue := isAhead || `, `mayBeDue := `}}},
	{"a pause hides that a clock was ahead", "P22", ledgerTests, overFake + "^a_pass_whose_clock_is_ahead", []edit{{releasing,
		`		if isAhead {
`, `		if false {
`}}},
	{"a note is removed while environments rely on it", "P24", ledgerTests, overFake + "^the_list_of_sales_forgets", []edit{{refunding,
		`c.began.Sub(c.NotedAt) < forgetAfter {`, `false {`}}},
	{"a note is removed while a slow clock relies on it", "P24", ledgerTests, overFake + "^the_list_of_sales_forgets", []edit{{refunding,
		`const forgetAfter = noteAge + DrainAfter`, `const forgetAfter = noteAge`}}},
	{"no note is ever removed", "P11", ledgerTests, overFake + "^the_list_of_sales_forgets", []edit{{refunding,
		`	return l.forgetRefunds(ctx, c.SaleID, c.NotedAt)
`, `	return nil
`}}},
	{"a count of refunds holds all of them", "P16", ledgerTests, "^TestRefundsAreCountedPageByPage", []edit{{refunding,
		`		c.Due += page.due
`, `		c.Due += page.due
		everything = append(everything, page.refunds...)
`}, {refunding,
		`// RefundCount counts`, `var everything []sale.Refund

// RefundCount counts`}}},
	{"a drained sale is off the list at once", "P24", ledgerTests, overFake + "^a_drained_sale_is_on_the_list", []edit{{listing,
		`"attribute_not_exists(#drained) OR #refundAt > :since"`, `"attribute_not_exists(#drained) AND (attribute_not_exists(#refundAt) OR #refundAt > :since)"`}}},
}
