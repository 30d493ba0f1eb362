package mutants

const (
	releaseTests   = "./functions/release/handler"
	releaseHandler = "functions/release/handler/handler.go"
	listing        = "shared/ledger/listing.go"
	turns          = "shared/scheduled/turns.go"
	refundsDue     = "functions/reconcile/handler/refunds.go"
)

// ofReleasing break the function that releases and what reconcile says of refunds.
var ofReleasing = []mutant{
	{"release knows no grace", "P21", releaseTests, "^TestNothingIsReleasedBefore", []edit{{releaseHandler,
		`h.book.ReleaseDue(ctx, listing, h.grace)`, `h.book.ReleaseDue(ctx, listing, 0)`}}},
	{"claims of a paused sale count as overdue", "P22", releaseTests, "^TestAPausedSaleReleasesNothing", []edit{{releasing,
		`	if s.Paused {
		return done, nil
	}
`, ``}}},
	{"release does not store how far it came", "P22", releaseTests, "^TestARunThatIsCutOff", []edit{{releasing,
		`	return p.saveCursor(ctx, p.sale.ID, "releasing", p.pass)`, `	return nil`}}},
	{"a table that is busy for a second fails a run of release", "P16", releaseTests, "^TestATableThatIsBusy", []edit{{listing,
		`l.retry(ctx, patientTries, `, `l.retry(ctx, maxTries, `}}},
	{"release fails because it cannot store how far it came", "P16", releaseTests, "^TestARunThatCannotStore", []edit{{listing,
		`	if sale.CodeOf(err) == sale.Busy {
		return nil
	}
	return err
`, `	return err
`}}},
	{"a table that is busy for a second costs reconcile its pass", "P16", reconciling, "^TestATableThatIsBusy", []edit{{listing,
		`l.retry(ctx, patientTries, `, `l.retry(ctx, maxTries, `}}},
	{"a table that is busy for a second keeps a message from being sent again", "P8", reconciling, "^TestATableThatIsBusy", []edit{{"shared/ledger/claims.go",
		`l.retry(ctx, patientTries, `, `l.retry(ctx, maxTries, `}}},
	{"reconcile fails because it cannot store its pass", "P16", reconciling, "^TestAPassThatCannotBeStored", []edit{{listing,
		`	if sale.CodeOf(err) == sale.Busy {
		return nil
	}
	return err
`, `	return err
`}}},
	{"a buyer waits for a claim to be marked", "P16", "./functions/purchase/handler", "^TestMarkingAClaim", []edit{{"functions/purchase/handler/handler.go",
		`context.WithTimeout(ctx, markTime)`, `context.WithCancel(ctx)`}}},
	{"a mark without an answer keeps its message from being sent", "P8", "./functions/purchase/handler", "^TestAMessageIsSentWhenTheMark", []edit{{"shared/ledger/claims.go",
		`err == nil || unsure, asInternal`, `err == nil, asInternal`}}},
	{"a mark is judged by its last try", "P8", ledgerTests, "^TestAMarkThatMayBeWritten", []edit{{"shared/ledger/claims.go",
		`unsure = unsure || judge(err) == unknown`, `unsure = judge(err) == unknown`}}},
	{"a run of release that is cut off fails", "P22", releaseTests, "^TestARunWhoseTimeEnds", []edit{{releaseHandler,
		`sale.CodeOf(saleErr) == sale.Busy && !invocation.Outlasts(turn, callTime)`, `false`}}},
	{"one huge sale takes the time of all releases", "P22", releaseTests, "^TestAHugeSale", []edit{{turns,
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
		`l.Err == nil && l.PayWithin == 0 })`, `false })`}}},
	{"refunds of drained sales are forgotten", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refundsDue,
		`append([]string{""}, ids(drained)...)`, `append([]string{""}, ids(nil)...)`}}},
	{"refunds of unknown orders are forgotten", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refundsDue,
		`append([]string{""}, ids(drained)...)`, `ids(drained)`}}},
	{"refunds that were made are due for ever", "P24", reconciling, "^TestRefundsAreCounted", []edit{{refundsDue,
		`if r.RefundedAt.IsZero() {`, `if r.RefundedAt.IsZero() || true {`}}},
	{"a drained sale is off the list at once", "P24", ledgerTests, overFake + "^a_drained_sale_is_on_the_list", []edit{{listing,
		`"attribute_not_exists(#drained) OR #refundAt > :since"`, `"attribute_not_exists(#drained) AND (attribute_not_exists(#refundAt) OR #refundAt > :since)"`}}},
}
