package mutants

const recalls = "shared/ledger/recall.go"

// ofRecalls break the recall of a sale, in the ledger, in the release function and where its
// outcome is counted.
var ofRecalls = []mutant{
	{"a recalled sale is not told to be recalled", "P35", ledgerTests, overFake + "^a_recalled_sale_sells", []edit{{"shared/sale/sale.go",
		`	case s.IsRecalled():
		return RefuseRecalled()
`, ``}}},
	{"a purchase that is under way sells what was recalled", "P35", ledgerTests, "^TestAPurchaseThatLearnsOfARecall", []edit{{"shared/ledger/purchase.go",
		`if s.sale.IsRecalled() {`, `if false {`}}},
	{"a recalled sale is resumed", "P35", ledgerTests, overFake + "^after_a_recall", []edit{{editing,
		`before.IsRecalled() && !e.MayFollowRecall()`, `false && !e.MayFollowRecall()`}}},
	{"a recalled sale cannot be paused", "P35", ledgerTests, overFake + "^after_a_recall", []edit{{editing,
		`before.IsRecalled() && !e.MayFollowRecall()`, `before.IsRecalled()`}}},
	{"a pass believes that every shard was paused when the sale was recalled", "P35", ledgerTests, overFake + "^a_recall_is_complete_only", []edit{{recalls,
		`p.pass.PausedAt.IsZero() || `, ``}}},
	{"a pass takes another's release for finished", "P35", ledgerTests, overFake + "^a_pass_after_which", []edit{{recalls,
		`case c.Released() && p.now()`, `case false && p.now()`}}},
	{"a payment to refund does not stop an erasure that has begun", "P34", ledgerTests, overFake + "^a_payment_to_refund_that", []edit{{"shared/ledger/erase.go",
		`		if err := l.mayBeErased(ctx, &h); err != nil {`, `		if l.mayBeErased(ctx, &h); false {`}}},
	{"a schedule resumes what a restore has paused", "P14", ledgerTests, overFake + "^a_replay_pauses_every_sale", []edit{{"shared/ledger/replay.go",
		`sale.Author{Actor: restoreActor, Note:`, `sale.Author{Note:`}}},
	{"a recalled sale gets more units", "P35", ledgerTests, overFake + "^after_a_recall", []edit{{adding,
		`c.Action == sale.ActionAdd && s.IsRecalled()`, `false && s.IsRecalled()`}}},
	{"a second recall is applied", "P35", ledgerTests, overFake + "^a_recalled_sale_sells", []edit{{recalls,
		`			if s.IsRecalled() {
				return s, nil
			}
`, ``}}},
	{"an older reader sells a recalled sale", "P35", ledgerTests, overFake + "^a_recalled_sale_sells", []edit{{recalls,
		`max(after.MinReader, sale.ReadsRecalls)`, `max(after.MinReader, sale.ReadsPayment)`}}},
	{"a recall is older than the edit before it", "P35", ledgerTests, overFake + "^a_recall_is_written_over", []edit{{recalls,
		`max(l.now().UnixMilli(), s.ChangedAt.UnixMilli()+1)`, `l.now().UnixMilli()`}}},
	{"a sale that asks for no payment is not finished", "P35", ledgerTests, overFake + "^a_sale_that_asks_for_no_payment_is_recalled", []edit{{releasing,
		`	if listing.Recalling {
`, `	if listing.Recalling && listing.PayWithin > 0 {
`}}},
	{"the pass does not pause what the recall did not reach", "P35", ledgerTests, overFake + "^the_pass_pauses", []edit{{recalls,
		`one.changedAt.Before(s.ChangedAt)`, `one.changedAt.After(s.ChangedAt)`}}},
	{"the recall goes on where a pass of expiry stopped", "P35", ledgerTests, overFake + "^a_pass_of_expiry", []edit{{recalls,
		`at != nil && at.RecalledAt.Equal(s.RecalledAt)`, `at != nil`}}},
	{"a recall that was cut off begins again", "P35", ledgerTests, overFake + "^a_recall.s_pass_continues", []edit{{recalls,
		`		p.pass = *at
`, ``}}},
	{"a recall does not wait for an order's id", "P35", ledgerTests, overFake + "^a_pass_waits", []edit{{recalls,
		`		next.Again = true
		return
`, `		return
`}}},
	{"a recall forgets that it must begin again", "P35", ledgerTests, overFake + "^a_recall.s_pass_continues", []edit{{recalls,
		`if p.pass.Again ||`, `if p.pass.Again && p.pass.Bucket == 0 ||`}}},
	{"a recall misses a claim that is hidden", "P35", ledgerTests, "^TestARecallFinishesAnOrder", []edit{{recalls,
		`p.pass.Began.Sub(p.pass.PausedAt) < pauseSettles`, `false`}}},
	{"a recall believes that its shards were paused with it", "P35", ledgerTests, overFake + "^a_pass_that_pauses", []edit{{recalls,
		` || slices.ContainsFunc(shards, isLate)`, ``}}},
	{"a recall by a clock that is ahead waits for that clock", "P35", ledgerTests, overFake + "^a_recall_by_a_clock", []edit{{recalls,
		`p.pass.PausedAt.After(now) || `, ``}}},
	{"an order that was paid during its release keeps its payment", "P35", ledgerTests, overFake + "^a_payment_that_overtakes_its_release,_and", []edit{{releasing,
		`next.isRecall() && n < len(p.due[k])`, `false`}}},
	{"a recall expires its orders", "P35", ledgerTests, overFake + "^a_recalled_sale_sells", []edit{{releasing,
		`		by = sale.ByOperator
`, ``}}},
	{"what a pass that died has released is not put back", "P35", ledgerTests, overFake + "^a_pass_puts_back", []edit{{releasing,
		`p.done.Released > 0 || p.pass.isRecall()`, `p.done.Released > 0`}}},
	{"a payment goes back in each pass", "P35", ledgerTests, overFake + "^a_pass_that_follows", []edit{{recalls,
		` && !slices.Contains(c.Refunds, c.Payment)`, ``}}},
	{"a payment goes back at the price and not as it was", "P35", ledgerTests, overFake + "^a_payment_whose_amount_only", []edit{{recalls,
		`	if guard == nil {
`, `	if true {
`}}},
	{"the listing does not note what goes back", "P35", ledgerTests, overFake + "^many_payments", []edit{{recalls,
		`	_, isNoted := p.noted.Get(p.sale.ID, now)
`, `	isNoted := true
`}}},
	{"each batch of refunds notes them in the listing", "P35", ledgerTests, overFake + "^many_payments", []edit{{recalls,
		`				p.noted.Put(p.sale.ID, struct{}{}, now, now.Add(noteAge))
`, `				_ = noteAge
`}}},
	{"the audit believes that a recall is complete", "P35", ledgerTests, overFake + "^what_the_audit_says", []edit{{auditing,
		`a.Paid != a.RecallRefunds)`, `false)`}, {auditing, `a.Pending+a.Unpaid > 0 ||`, `false ||`}}},
	{"the audit does not wait for the end of a recall", "P35", ledgerTests, overFake + "^what_the_audit_says", []edit{{auditing,
		`err == nil && !listing.Recalling`, `err == nil && (!listing.Recalling || true)`}}},
	{"a recall's refund counts as another order's payment", "P35", ledgerTests, overFake + "^a_recalled_sale_sells", []edit{{auditing,
		`				a.RecallRefunds++
				continue
`, `				a.RecallRefunds++
`}}},
	{"release passes over a sale that is being recalled", "P35", releaseTests, "^TestARecalledSaleGetsItsPass", []edit{{releaseHandler,
		`l.PayWithin == 0 && !l.Recalling`, `l.PayWithin == 0`}}},
	{"a sale that is being recalled is not the last", "P35", releaseTests, "^TestARecalledSaleGetsItsPass", []edit{{releaseHandler,
		`a.Recalling != b.Recalling {`, `false {`}}},
	{"an order of a recalled sale without payment shows no state", "P35", "./functions/query/handler", "^TestAnOrderOfARecalledSale", []edit{{"functions/query/handler/handler.go",
		`s.PayWithin > 0 || s.IsRecalled()`, `s.PayWithin > 0`}}},
	{"buyers of a recalled sale are shown where to pay", "P35", "./functions/query/handler", "^TestNobodyIsSentToPay", []edit{{"functions/query/handler/handler.go",
		`if !s.IsRecalled() {
		address`, `if true {
		address`}}},
	{"the recount does not look for an unfinished recall", "P35", bookTests, "^TestEachKindOfBrokenRecall", []edit{{"infra/kit/books/recall.go",
		`!was && p.unrecalled+p.pending > 0`, `false`}}},
	{"a recall may take as long as it likes", "P35", bookTests, "^TestARecallThatIsUnderWay", []edit{{"infra/kit/books/recall.go",
		`late > bound`, `late > 100*bound`}}},
}
