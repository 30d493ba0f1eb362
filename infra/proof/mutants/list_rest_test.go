package mutants

// ofEverythingElse break reconciliation, the handling of callers, and clocks.
var ofEverythingElse = []mutant{
	{"a lost claim's user is cut in the log", "P4", "./functions/purchase/handler", "^TestTheLogCanReplace", []edit{{"shared/telemetry/telemetry.go",
		`maxText  = sale.MaxUser * utf8.UTFMax`, `maxText  = 128`}}},
	{"a refusal's line does not say the claim that its buyer is told of", "P4", "./functions/purchase/handler", "^TestTheLogCanReplace", []edit{{"functions/purchase/handler/handler.go",
		`logClaim(event, p.Claim)`, `if err == nil { logClaim(event, p.Claim) }`}}},
	{"a lost claim's key is not in the log", "P9", "./functions/purchase/handler", "^TestTheLogCanReplace", []edit{{"functions/purchase/handler/handler.go",
		`if c.RequestKey != "" {`, `if false {`}}},
	{"a lost claim's key is not in finalize's log", "P9", "./functions/finalize/handler", "^TestTheLogCanReplace", []edit{{"shared/ledger/confirm.go",
		`held.AcceptedAt, held.Shard, held.RequestKey, held.OrderID`, `held.AcceptedAt, held.Shard, "", held.OrderID`}}},
	{"the log has only the orders that were new", "P7", "./functions/finalize/handler", "^TestTheLogCanReplace", []edit{{"functions/finalize/handler/handler.go",
		`r := results[i]; r.Err == nil {`, `r := results[i]; r.New {`}}},
	{"a replay gives order ids out again", "P7", ledgerTests, overFake + "^a_replay_writes", []edit{{"shared/ledger/replay.go",
		`sequenceLeap = 100_000_000`, `sequenceLeap = 0`}}},
	{"events after a restore have the ids of lost ones", "P26", ledgerTests, overFake + "^a_replay_writes", []edit{{"shared/ledger/replay.go",
		`saleLeap     = 1_000_000`, `saleLeap     = 1`}}},
	{"a replay takes units that were sold again", "P1", ledgerTests, overFake + "^a_shard_with_more", []edit{{"shared/ledger/replay_table.go",
		`	if slices.ContainsFunc(want, func(w shard) bool { return w.stock < 0 }) {`, `	if false {`}}},
	{"a replay gives the units of released claims to nobody", "P2", ledgerTests, overFake + "^a_replay_writes", []edit{{"shared/ledger/replay_table.go",
		`w.stock = w.seeded - one.claims[k] + w.putBack`, `w.stock = w.seeded - one.claims[k]`}}},
	{"a claim of a lost call is replayed", "P29", ledgerTests, overFake + "^a_claim_of_a_draw", []edit{{"shared/ledger/replay.go",
		`case one.sale.HasDraw() && !slices`, `case false && !slices`}}},
	{"the steps of a withdrawal whose head was lost stay", "P15", ledgerTests, overFake + "^the_steps_of_a_withdrawal", []edit{{"shared/ledger/replay_table.go",
		`err == nil && added[identityOf(seedKey(saleID, seed))] != nil`, `err == nil`}}},
	{"the steps behind a lost one stay", "P15", ledgerTests, overFake + "^the_steps_of_a_withdrawal", []edit{{"shared/ledger/replay_table.go",
		`whole && before < step; before++`, `whole && before < step-1; before++`}}},
	{"a check takes steps back", "P15", ledgerTests, overFake + "^the_steps_of_a_withdrawal", []edit{{"shared/ledger/replay_table.go",
		`		delete(taken, identityOf(it))
		if !p.write {
			continue
		}
`, `		delete(taken, identityOf(it))
`}}},
	{"a refund for an order that a lost recall released comes back without it", "P24", ledgerTests, overFake + "^what_a_lost_recall", []edit{{"shared/ledger/replay_table.go",
		`r.Reason == sale.RefundReleased && p.unreleased[r.OrderID]`, `false`}}},
	{"a release that only a refund tells stays lost", "P20", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`case r.Reason == sale.RefundReleased:`, `case false:`}}},
	{"a release that only a refund tells is nobody's expiry", "P21", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`case s.PayWithin > 0 && !expires.After(then):`, `case false:`}}},
	{"a release that only a refund tells is no recall's", "P35", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`case s.IsRecalled() && !s.RecalledAt`, `case false && !s.RecalledAt`}}},
	{"a recall has released what had expired", "P35", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`(s.PayWithin == 0 || expires.After(s.RecalledAt))`, `true`}}},
	{"a guard says that an expired order was paid twice", "P24", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`held.Released() || held.MayBeReleased() && releasedUntil(one.sale, c.OrderID, c.PaidAt) != sale.ByBuyer:`, `held.Released():`}}},
	{"a refund besides a payment that nothing tells is no news", "P24", ledgerTests, overFake + "^a_refund_due_besides", []edit{{"shared/ledger/replay_table.go",
		`case r.Reason == sale.RefundOtherPayment:`, `case false:`}}},
	{"a guard does not tell the payment", "P24", ledgerTests, overFake + "^a_refund_due_besides", []edit{{"shared/ledger/replay_table.go",
		`			delete(p.unexplained, c.OrderID)
`, ``}}},
	{"a note stays without its refund", "P24", ledgerTests, overFake + "^a_note_of_a_refund", []edit{{"shared/ledger/replay_table.go",
		`return p.dropNote(ctx, c, payment)`, `return nil`}}},
	{"a note goes although an event tells its refund", "P24", ledgerTests, overFake + "^a_note_of_a_refund", []edit{{"shared/ledger/replay_table.go",
		` && !p.due[payment]`, ``}}},
	{"a note goes although a guard tells its refund", "P24", ledgerTests, overFake + "^a_refund_due_for", []edit{{"shared/ledger/replay_table.go",
		`guard.optionalText("fate") != fateRefund`, `guard.err == nil`}}},
	{"half a refund of no order stays", "P24", ledgerTests, overFake + "^half_of_what", []edit{{"shared/ledger/replay_table.go",
		`refund.SaleID == "" || `, ``}}},
	{"a restore's edit is older than one in the trail", "P32", ledgerTests, overFake + "^an_edit_of_which", []edit{{"shared/ledger/replay.go",
		`last = max(last, r.number("at"))`, `_ = r`}}},
	{"a recall's refunds are never replayed", "P35", ledgerTests, overFake + "^what_a_lost_recall", []edit{{"shared/ledger/replay_table.go",
		`if recalled && !one.sale.IsRecalled() ||`, `if recalled ||`}}},
	{"half an edit of a sale that is over stays", "P14", ledgerTests, overFake + "^half_an_edit", []edit{{"shared/ledger/replay.go",
		`num(max(now.UnixMilli(), last+1))`, `num(s.ChangedAt.UnixMilli())`}}},
	{"the day of a clock that is ahead does not leap", "P7", ledgerTests, overFake + "^half_an_edit", []edit{{"shared/ledger/replay.go",
		`!day.After(now.Add(clockSkew))`, `!day.After(now)`}}},
	{"erased users come back", "P34", ledgerTests, overFake + "^nothing_is_replayed", []edit{{"shared/ledger/replay.go",
		`if has(listing, "sealedAt") {`, `if false {`}}},
	{"a table that does not balance is taken over", "P2", "./infra/ops/deploy/preflight", "^TestATableWhoseReceipts", []edit{{"infra/ops/deploy/preflight/account.go",
		`	if will != "" && d.Tables != nil {`, `	if false {`}}},
	{"a replay writes in spite of what contradicts it", "P3", "./infra/ops/operator", "^TestATableThatTheFiles", []edit{{"infra/ops/operator/restore.go",
		`	case refused:`, `	case false && refused:`}}},
	{"resending without grace or memory", "P17", ledgerTests, overFake + "^a_pending_claim_may_be_resent", []edit{{"shared/ledger/claims.go",
		`return min(max(ResendGrace, now.Sub(c.AcceptedAt)/2), longestQuiet)`, `return ResendGrace / 2`}}},
	{"after an outage of hours a claim waits for hours", "P8", ledgerTests, "^TestAnOldClaimIsDueAgain", []edit{{"shared/ledger/claims.go",
		`return min(max(ResendGrace, now.Sub(c.AcceptedAt)/2), longestQuiet)`, `return max(ResendGrace, now.Sub(c.AcceptedAt)/2)`}}},
	{"a message that could not be sent counts as sent", "P8", reconciling, "^TestAnUnreachableQueueIsTried", []edit{{resending,
		`unmarked < maxUnmarked`, `false`}}},
	{"messages whose answers are lost are sent every minute", "P8", reconciling, "^TestOfManyMessages", []edit{{resending,
		`unmarked < maxUnmarked`, `true`}}},
	{"a buyer's click delays reconcile after an outage", "P8", "./functions/purchase/handler", "^TestABuyerWhoAsksAgain", []edit{{"functions/purchase/handler/handler.go",
		` || h.now().Sub(p.Claim.AcceptedAt) > helpTime`, ``}}},
	{"an operator in a hurry waits until messages are due", "P8", reconciling, "^TestAnOperatorInAHurry", []edit{{"shared/ledger/claims.go",
		`	if hurry {`, `	if false {`}}},
	{"reconcile ignoring its grace", "P17", ledgerTests, overFake + "^a_claim_within_its_grace", []edit{{"shared/ledger/claims.go",
		`if now.Sub(c.AcceptedAt) <= ResendGrace {`, `if false {`}}},
	{"no reconcile", "P8", reconciling, "^TestAMessageLostTwice", []edit{{"functions/reconcile/handler/resend.go",
		`if len(claims) == 0 {`, `if true {`}}},
	{"a sale drained with a claim pending", "P8", reconciling, "^TestABalancedSaleIsDrained", []edit{{auditing,
		`r.Pending == 0 && `, ``}}},
	{"a sale drained by a pass that began before its last purchases", "P8", ledgerTests, overFake + "^only_a_pass_that_began", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: true,`}, {auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
	{"a sale drained soon after its end", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: true,`}}},
	{"a sale drained that was prolonged", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`a.Closed = began.Sub(s.Ends()) >= DrainAfter`, `a.Closed = true`}}},
	{"a sale drained while a shard is open", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`		a.Closed = a.Closed && began.Sub(one.closesAt) >= DrainAfter
`, ``}}},
	{"a sale drained whose last claim nobody has seen", "P8", ledgerTests, overFake + "^a_purchase_that_slips", []edit{{auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
	{"a sale drained without a look at its old orders", "P8", ledgerTests, overFake + "^a_pass_that_finishes", []edit{{auditing,
		`if r.Finished && !a.OrdersFrom.IsZero() {`, `if false {`}}},
	{"a closed sale reads every order in every pass", "P16", ledgerTests, "^TestPassesOverAClosedSale", []edit{{auditing,
		`if a.OrdersFrom.After(began.Add(-recheck)) {`, `if a.Closed {`}}},
	{"an order that stays missing is forgotten", "P8", ledgerTests, overFake + "^a_missing_order_item", []edit{{auditingClaims,
		` || slices.Contains(a.Absent, c.OrderID)`, ``}}},
	{"a pass whose clock was ahead hides orders from the next one", "P8", ledgerTests, overFake + "^a_pass_that_finishes", []edit{{auditing,
		`if a.OrdersFrom.After(began.Add(-recheck)) {`, `if false {`}}},
	{"a full queue forbids to send again", "P8", reconciling, "^TestAMessageLostTwice", []edit{{resending,
		`if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {`, `if full {`}}},
	{"a full queue delays for too long", "P11", reconciling, "^TestAMessageLostTwice", []edit{{resending,
		`ledger.ResendBound / 5`, `ledger.ResendBound / 2`}}},
	{"of many lost messages always the same are sent", "P8", reconciling, "^TestOfMoreThanOnePass", []edit{{resending,
		`lastSent(a).Compare(lastSent(b))`, `lastSent(b).Compare(lastSent(a))`}}},
	{"what a pass has found is lost when it is cut off", "P8", reconciling, "^TestWhatACutOffPass", []edit{{reconcile,
		`		resent, sendErr := h.resend(ctx, stranded.oldest(), `, `		resent, sendErr := h.resend(ctx, stranded.oldest()[:0], `}}},
	{"a sale that is not seeded is known when it should be open", "P11", reconciling, "^TestADraftIsNoFailure", []edit{{"functions/reconcile/handler/receipt.go",
		`now.Sub(draft.OpensAt) >= -seedingMargin`, `now.Sub(draft.OpensAt) >= 0`}}},
	{"a draft that nobody wants any more counts for ever", "P11", reconciling, "^TestADraftIsNoFailure", []edit{{"functions/reconcile/handler/receipt.go",
		` && now.Before(draft.ClosesAt) {`, ` {`}}},
	{"reconcile stops at the first sale that fails", "P11", reconciling, "^TestASaleThatFails", []edit{{reconcile,
		`			errs = append(errs, fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
`, `			panic(fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
`}}},
	{"one huge sale takes the time of all", "P11", "./shared/scheduled", "^TestWhatASaleLeavesOver", []edit{{turns,
		`(len(left)-j+atOnce-1)/atOnce`, `1+0*j`}}},
	{"a long pass of reconcile has one turn a run", "P8", reconciling, "^TestALongPassEnds", []edit{{turns,
		`return !cut[i] })`, `return true })`}}},
	{"a further turn of reconcile begins a pass from the beginning", "P8", reconciling, "^TestALongPassEnds", []edit{{reconcile,
		`listing := &listings[i]
`, `listing := new(listings[i])
`}}},
	{"sales are reconciled one after the other", "P11", reconciling, "^TestARunOverManySales", []edit{{reconcile,
		`const salesAtOnce = 8`, `const salesAtOnce = 1`}}},
	{"buckets are read one after the other", "P11", reconciling, "^TestARunOverManySales", []edit{{auditingClaims,
		`	each(len(a.Places), func(i int) {
`, `	each(1, func(int) {})
	func(f func(int)) {
		for i := range a.Places {
			f(i)
		}
	}(func(i int) {
`}}},
	{"a sale is drained without a look for claims because nothing is sold", "P8", ledgerTests, overFake + "^a_claim_without_its_unit", []edit{{auditing,
		`if sold || a.OrdersFrom.IsZero() {`, `if sold {`}}},
	{"a pass reads the claims of a sale that has sold nothing", "P16", ledgerTests, "^TestAPassReadsEveryBucketOnce", []edit{{auditing,
		`if sold || a.OrdersFrom.IsZero() {`, `if sold || true {`}}},
	{"a mismatch is looked at again at once", "P2", reconciling, "^TestAMismatchIsLeftToTheNextRun", []edit{{reconcile,
		`return books, false, err`, `return books, books == nil && err == nil, err`}}},
	{"a misspelt saleId means every sale", "P19", "./shared/scheduled", "^TestARequestIsReadStrictly", []edit{{"shared/scheduled/scheduled.go",
		`name != "saleId"`, `name == ""`}}},
	{"a schedule is told another error's text", "P18", "./shared/scheduled", "^TestAFailureIsNamed", []edit{{"shared/scheduled/scheduled.go",
		`ok && e.Detail != "" {
		text += ": " + e.Detail`, `ok {
		text += ": " + e.Error()`}}},
	{"null is read as nothing", "P19", "./shared/jsonread", "^TestAFlatObject", []edit{{"shared/jsonread/flat.go",
		`kind != '"' && kind != '0'`, `kind == '{' || kind == '['`}}},
	{"the audit is blind to a stock below zero", "P1", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditing,
		`; one.stock < 0 {`, `; false {`}}},
	{"the audit is blind to a claim in another bucket", "P3", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditingClaims,
		`if sale.BucketOf(c.User, s.Buckets) != bucket {`, `if false {`}}},
	{"the audit is blind to an order id's time", "P7", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditingClaims,
		`at.Before(earliest) || at.After(now.Add(clockSkew))`, `at.Before(earliest) && at.IsZero()`}}},
	{"the audit is blind to stock that nobody can buy", "P6", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditing,
		`if s.Empty.Has(k) && one.stock > 0 {`, `if false {`}}},
	{"the audit takes what passes for a finding", "P2", ledgerTests, overFake + "^what_changes_while", []edit{{auditing,
		`if slices.Contains(a.Suspects, m.Key) {`, `if true {`}}},
	{"send before commit", "P4", "./functions/purchase/handler", "^TestEachRefusal|^TestTheLastUnit", []edit{{"functions/purchase/handler/handler.go",
		`	p, err = h.book.Purchase(ctx, request)
`, `	h.send(ctx, event, ledger.PurchaseResult{Claim: sale.Claim{ID: "early", SaleID: saleID, User: request.User}, New: true})
	p, err = h.book.Purchase(ctx, request)
`}}},
	{"fail on send failure", "P4", "./functions/purchase/handler", "^TestAClaimStands", []edit{{"functions/purchase/handler/handler.go",
		`	h.send(ctx, event, p)
`, `	if p.New && h.queue.Send(ctx, orderq.Of(p.Claim)) != nil {
		return httpapi.Problem(sale.Refuse(sale.Busy, ""), saleID)
	}
`}}},
	{"poison alone fails an invocation", "P10", "./functions/finalize/handler", "^TestABatchOfPoisonOnly", []edit{{"functions/finalize/handler/handler.go",
		`err != nil && sale.CodeOf(err) != sale.Poison`, `err != nil`}}},
	{"units of a paused sale counted as available", "P11", ledgerTests, overFake + "^what_can_be_bought", []edit{{"shared/ledger/audit.go",
		`if s.Refusal(now) == nil && `, `if `}}},
	{"metrics of two stacks counted together", "P11", "./shared/telemetry", "^TestMetricsOfAStack", []edit{{"shared/telemetry/metrics.go",
		`		dimensions = ` + "`[\"stack\",\"service\"`", ``}}},
	{"one poison message fails its batch", "P10", "./functions/finalize/handler", "^TestEveryShapeOfPoison", []edit{{"functions/finalize/handler/handler.go",
		`			failures[i] = err
			continue
`, `			for i = range failures {
				failures[i] = err
			}
			return failures
`}}},
	{"somebody else's order is shown", "P12", "./functions/query/handler", "^TestSomebodyElsesOrder", []edit{{"functions/query/handler/handler.go",
		`err == nil && o.User != user`, `err == nil && o.User == ""`}}},
	{"the user from a header", "P12", "./functions/purchase/handler", "^TestTheBuyerIsTheTokensSub", []edit{{"shared/httpapi/request_headers.go",
		`		case is(name, originVerify):
			h = &r.OriginVerify
`, `		case is(name, originVerify):
			h = &r.OriginVerify
		case is(name, "x-user"):
			r.Sub, _, err = e.Text()
			return err
`}, {"shared/httpapi/event.go",
		`			err = readDeep(e, &r.Sub,`, `			if r.Sub != "" {
				return e.Skip()
			}
			err = readDeep(e, &r.Sub,`}}},
	{"the user from a claim of another name", "P12", "./shared/httpapi", "^TestOnlyTheClaimSub", []edit{{"shared/httpapi/event.go",
		`string(name) != path[0] {`, `len(name) != len(path[0]) {`}}},
	{"an empty shard closed without reading first", "P6", ledgerTests, "^TestAnEmptyShardIsReadAboutBeforeItIsClosedAgain", []edit{{purchasing,
		`if p.view.isOlder(p.ledger.now(), newsAge) {`, `if false {`}}},
	{"an empty shard closed by nobody who cannot read the sale", "P16", ledgerTests, "^TestAnEmptyShardIsClosedByOneTry", []edit{{purchasing,
		`		return 1
	case p.view.isNews`, `		return 0
	case p.view.isNews`}}},
	{"an empty shard closed by six tries of everybody who cannot read the sale", "P16", ledgerTests, "^TestAnEmptyShardIsClosedByOneTry", []edit{{purchasing,
		`		return 1
	case p.view.isNews`, `		return maxTries
	case p.view.isNews`}}},
	{"a separator in an id", "P13", "./shared/sale", "ID", []edit{{"shared/sale/ids.go",
		`c == '_', c == '-':`, `c == '_', c == '-', c == '#':`}}},
	{"a message for a newer release is read", "P19", "./shared/orderq", ".", []edit{{"shared/orderq/decode.go",
		`case w.V > sale.ReadsMessages:`, `case w.V > sale.ReadsMessages+1:`}}},
	{"a message for a newer release is poison", "P8", "./shared/orderq", "^TestAMessageOfANewerVersion", []edit{{"shared/orderq/decode.go",
		`sale.Fail(sale.NewerVersion,`, `sale.Fail(sale.Poison,`}}},
	{"a message for a newer release that looks different is poison", "P8", "./shared/orderq", "^TestAMessageOfANewerVersion", []edit{{"shared/orderq/decode.go",
		`	case w.V > sale.ReadsMessages:`, `	case err == nil && w.V > sale.ReadsMessages:`}}},
	{"messages for a newer release make a deployment roll back", "P10", "./functions/finalize/handler", "^TestAMessageForANewerRelease", []edit{{
		"functions/finalize/handler/handler.go", ` && sale.CodeOf(err) != sale.NewerVersion
	})`, `
	})`}}},
	{"a sale for a newer release is recounted", "P19", bookTests, "^TestASaleForANewer", []edit{{"infra/kit/books/versions.go",
		`n > reads {`, `n > reads+1 {`}}},
	{"a sale for a newer release hides the others from operators", "P11", bookTests, "^TestASaleForANewer", []edit{{"infra/kit/books/sale.go",
		`			if readable(it) != nil {`, `			if false {`}}},
	{"a pass that another release has begun is continued", "P2", ledgerTests, overFake + "^the_list_of_sales_shows", []edit{{"shared/ledger/listing.go",
		`one.Cursor.Format != cursorFormat || `, ``}}},
	{"a sale for a newer release is read", "P19", ledgerTests, overFake + "^a_sale_of_a_newer", []edit{{"shared/ledger/newer_release.go",
		`case v > sale.Reads:`, `case v > sale.Reads+1:`}}},
	{"a sale that this release can read is refused", "P19", ledgerTests, overFake + "^a_sale_of_the_version", []edit{{"shared/ledger/newer_release.go",
		`case v > sale.Reads:`, `case v >= sale.Reads:`}}},
	{"a sale without a minReader is refused", "P19", ledgerTests, overFake + "^a_sale_without_a_minReader", []edit{{"shared/ledger/newer_release.go",
		`	if !has(it, attrMinReader) {
		return r
	}
`, ``}}},
	{"a minReader of 0 is none", "P19", ledgerTests, overFake + "^a_minReader_that_is_no", []edit{{"shared/ledger/newer_release.go",
		`case v < 1:`, `case v < 0:`}}},
	{"a claim does not say what its sale's readers need", "P19", ledgerTests, overFake + "^a_sale_of_the_version", []edit{{purchasing,
		`, MinReader: s.sale.MinReader,`, `,`}}},
	{"a claim for a newer release is confirmed", "P19", ledgerTests, overFake + "^a_claim_of_a_newer", []edit{{ledgerItems,
		`	r := reading(it)
	c := sale.Claim{`, `	r := reader{item: it}
	c := sale.Claim{`}}},
	{"a listing for a newer release is read", "P19", ledgerTests, overFake + "^a_listing_of_a_newer", []edit{{"shared/ledger/listing.go",
		`	r := reading(it)`, `	r := reader{item: it}`}}},
	{"a listing for a newer release hides the others", "P11", ledgerTests, overFake + "^a_listing_of_a_newer", []edit{{"shared/ledger/listing.go",
		`		list = append(list, readListing(it))
`, `		list = append(list, readListing(it))
		if err := list[len(list)-1].Err; err != nil {
			return nil, err
		}
`}}},
	{"a crowd reads a sale for a newer release", "P16", ledgerTests, "^TestACrowdInASaleOfANewer", []edit{{"shared/ledger/snapshot.go",
		`	return v.unreadable
}

// recordRead counts`, `	return nil
}

// recordRead counts`}}},
	{"reconcile writes into a sale for a newer release", "P19", reconciling, "^TestASaleForANewer", []edit{{reconcile,
		`	if sale.CodeOf(err) == sale.NewerVersion {
		return nil, 0, false, err // a newer release keeps the sale's pass
	}
`, ``}}},
	{"reconcile reads a sale although its listing is for a newer release", "P19", reconciling, "^TestASaleForANewer", []edit{{reconcile,
		`	if listing.Err != nil {
		return nil, 0, false, listing.Err
	}
`, ``}}},
	{"a sale for a newer release is an error to its buyers", "P5", "./shared/httpapi", "^TestEveryCode", []edit{{"shared/httpapi/problem.go",
		`	if code == sale.NewerVersion {`, `	if false {`}}},
	{"no alarm notices a sale for a newer release", "P11", "./shared/telemetry", "^TestAnOutcomeIsItsCode", []edit{{"shared/telemetry/metrics.go",
		`	if code == sale.NewerVersion {`, `	if false {`}}},
	{"a released claim is confirmed", "P19", ledgerTests, overFake + "^a_claim_that_a_later", []edit{{"shared/sale/sale.go",
		`	case !c.ReleasedAt.IsZero():
		return Cancelled
`, ``}}},
	{"units that are back in stock are counted as oversold", "P2", ledgerTests, overFake + "^released_units", []edit{{ledgerItems,
		`s.seeded - s.stock + s.putBack }`, `s.seeded - s.stock }`}}},
	{"a message with wrong buckets is poison", "P8", ledgerTests, "^TestTheLedgerOverTheFake$", []edit{{"shared/ledger/confirm.go",
		`if c.Err == errNoClaim && c.ref.Buckets > 0 {`, `if false {`}}},
	{"endless tries", "P16", ledgerTests, "^TestUnansweredOrContendedToTheEnd", []edit{{"shared/ledger/retry.go",
		`maxTries = 6`, `maxTries = 60`}}},
	{"whoever goes around the front comes in", "P12", "./shared/httpapi", "^TestOnlyRequestsWithTheSecret", []edit{{"shared/httpapi/origin.go",
		`digest[:], o.digest[:]) != 1 {`, `digest[:], o.digest[:]) == 2 {`}}},
	{"an open breaker lets everybody try", "P16", "./shared/eligibility", "^TestOneCallMayTry", []edit{{"shared/eligibility/breaker.go",
		`(b.probing || 0 <= passed && passed < b.spread)`, `0 <= passed && passed < b.spread`}}},
	{"the clock of the functions stops while an environment is frozen", "P6", "./shared/clock", "^TestTheWallClock", []edit{{"shared/clock/clock.go",
		`return Strip(time.Now())`, `return time.Now()`}}},
	{"a ledger without a clock takes one that stops", "P6", ledgerTests, "^TestALedgerThatIsGivenNoClock", []edit{{"shared/ledger/ledger.go",
		`o.Now = clock.Wall`, `_, o.Now = clock.Wall, time.Now`}}},
	{"a snapshot never ages", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenRefusesNothing", []edit{{"shared/ledger/snapshot.go",
		`v.known && isFresh(now, v.readAt, v.age)`, `v.known`}}},
	{"what was read in the future is fresh", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenRefusesNothing", []edit{{"shared/ledger/snapshot.go",
		`return 0 <= passed && passed < age`, `return passed < age`}}},
	{"a remembered claim never ages", "P9", ledgerTests, "^TestAnEnvironmentThatWasFrozenReadsTheClaim", []edit{{"shared/ledger/claims.go",
		`asksForPayment}, now, now.Add(recentFor)`, `asksForPayment}, now, now.Add(1000 * time.Hour)`}}},
	{"what was remembered in the future is remembered", "P9", ledgerTests, "^TestAnEnvironmentThatWasFrozenReadsTheClaim", []edit{{remembering,
		`now.Before(e.from) || `, ``}}},
	{"a count of the remaining units never ages", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenCounts", []edit{{"shared/ledger/remaining.go",
		`now.Add(remainingAge)`, `now.Add(1000*time.Hour)`}}},
	{"a breaker stays open until a clock that stepped back catches up", "P16", "./shared/eligibility", "^TestABreakersPauseIsOver", []edit{{"shared/eligibility/breaker.go",
		`0 <= passed && passed < b.spread`, `passed < b.spread`}}},
	{"what the SDK logs is not a line of ours", "P18", "./shared/telemetry", "^TestWhatTheSDKLogs", []edit{{"shared/telemetry/calls.go",
		`	cfg.Logger = sdkLogger{l}
`, ``}}},
	{"nobody knows which release wrote a line", "P18", "./shared/telemetry", "^TestWhatTheSDKLogs", []edit{{"shared/telemetry/telemetry.go",
		`	to.Text("version", sale.Release)
`, ``}}},
	{"nobody knows which release has answered", "P18", "./functions/purchase/handler", "^TestAnAcceptedOrderIsAnswered", []edit{{"shared/httpapi/httpapi.go",
		`, Version: sale.Release}`, `}`}}},
	{"any 4xx counts against the service", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/service.go",
		`status >= 500, `, `status >= 400, `}}},
	{"a gateway's 4xx refuses its users until the end of the sale", "P5", "./shared/eligibility", "^TestAGatewaysAnswer", []edit{{"shared/eligibility/service.go",
		`	case status != http.StatusOK:
`, `	case status >= 400:
		return false, nil
	case status != http.StatusOK:
`}}},
	{"an answer that cannot be used counts against the service", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/eligibility.go",
		` && !errors.Is(err, errAnswer)`, ``}}},
	{"throttling does not count against the service", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/service.go",
		`status >= 500, status == http.StatusTooManyRequests, `, `status >= 500, `}}},
	{"a refusal of our own credentials is read as an answer", "P5", "./shared/eligibility", "^TestOnlyTheAgreedAnswers", []edit{{"shared/eligibility/service.go",
		`	case status != http.StatusOK:
`, `	case status != http.StatusOK && status != http.StatusForbidden:
`}}},
	{"users are asked about in the clear", "P12", "./shared/eligibility", "^TestAURLThatCannotBeMeant", []edit{{"shared/eligibility/service.go",
		` && !isLoopback(u.Hostname()):`, ` && false:`}}},
	{"an answer about a user outlives its sale", "P14", "./shared/eligibility", "^TestAnAnswerPastItsSalesEnd", []edit{{remembering,
		` || !now.Before(e.until)`, ``}}},
	{"the last message has no time of its own", "P4", "./functions/purchase/handler", "^TestAClaimMadeInTheLastMoment", []edit{{"shared/invocation/invocation.go",
		`if Outlasts(ctx, d) {`, `if true {`}}},
	{"an unexpected error after an unknown outcome is internal", "P5", ledgerTests, "^TestAnUnexpectedErrorAfterAnUnknown", []edit{{purchasing,
		`	if p.unsure {
		code = sale.Busy
	}
`, ``}}},
	{"an order id's second and its day of two instants", "P7", ledgerTests, "^TestAnOrderIDsSecondAndItsDay", []edit{{"shared/ledger/sequence.go",
		`orderid.New(now, `, `orderid.New(l.now(), `}}},
	{"the instant of closing belongs to the sale", "P14", "./shared/sale", "^TestAPurchaseIsAdmittedOnly", []edit{{"shared/sale/sale.go",
		`case !now.Before(s.ClosesAt):`, `case now.After(s.ClosesAt):`}}},
	{"the instant of opening does not belong to the sale", "P14", "./shared/sale", "^TestAPurchaseIsAdmittedOnly", []edit{{"shared/sale/sale.go",
		`case now.Before(s.OpensAt):`, `case !now.After(s.OpensAt):`}}},
	{"a shard sells at the instant of closing", "P14", ledgerTests, "^TestATryAtTheInstantOfClosing", []edit{{purchasing,
		`#closesAt > :now`, `#closesAt >= :now`}}},
	{"a shard sells nothing at the instant of opening", "P14", ledgerTests, overFake + "^opening_is_inclusive", []edit{{purchasing,
		`#opensAt <= :now`, `#opensAt < :now`}}},
	{"of two callers in an event the last one counts", "P12", "./shared/httpapi", "^TestAnEventThatNamesItsCallerTwice", []edit{{"shared/httpapi/event.go",
		`if found {`, `if found && false {`}}},
	{"of two request contexts the last one counts", "P12", "./shared/httpapi", "^TestAnEventThatNamesItsCallerTwice", []edit{{"shared/httpapi/event.go",
		`if identified {`, `if identified && false {`}}},
	{"the recount believes a shard's own word for what it was given", "P15", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/kit/books/judge.go",
		`low, high := p.given(k)`, `low, high := s0.seeded, s.seeded`}}},
	{"the recount forgets what was withdrawn", "P2", bookTests, "^TestEveryHonestSaleBalances$", []edit{{"infra/kit/books/seedings.go",
		`		h.withdrawn[one.shard] += one.units
`, ``}}},
	{"the recount believes that a withdrawal took no more than it was to take", "P15", bookTests, "^TestEachKindOfBrokenWithdrawal", []edit{{"infra/kit/books/seedings.go",
		`	case taken > asked:`, `	case false:`}}},
	{"the recount believes what room the sale has", "P15", bookTests, "^TestEachKindOfBrokenWithdrawal", []edit{{"infra/kit/books/judge.go",
		`(s.room < low || s.room > high)`, `(s.room < low && s.room > high)`}}},
	{"the recount judges what was withdrawn meanwhile", "P2", bookTests, "^TestASaleBalancesInTheMiddle|^TestASaleThatChanges", []edit{{"infra/kit/books/seedings.go",
		`p.before.added[k] - p.after.withdrawn[k],`, `p.before.added[k] - p.before.withdrawn[k],`}}},
	{"the recount judges a sale that sells as a quiet one", "P2", bookTests, "^TestASaleBalancesInTheMiddle", []edit{{"infra/kit/books/judge.go",
		`*s0 == *s && low == high, high-claims`, `true, high-claims`}}},
	{"the recount does not wait for the other half of a transaction", "P2", bookTests, "^TestATransactionHalfVisible", []edit{{"infra/kit/books/receipt.go",
		`len(first.found) == 0 && first.still()`, `true`}}},
	{"the recount does not look for orders without a claim", "P7", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/kit/books/strays.go",
		`return p.checkOwners(ctx, orders)`, `return nil`}}},
	{"the recount does not look for sales that are not listed", "P8", bookTests, "^TestWhatIsBrokenIsFoundThroughTheTableToo$", []edit{{"infra/kit/books/strays.go",
		`!s.listed[saleID] && saleID`, `s.listed[saleID] && saleID`}}},
	{"the recount takes two orders with one number of a day", "P7", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/kit/books/claims.go",
		`p.findDoubles(orderNumbers)`, `_ = orderNumbers`}}},
	{"the recount counts a claim in the wrong bucket", "P3", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/kit/books/claims.go",
		`c.Bucket != right`, `false`}}},
	{"the verdict takes two claims of one buyer", "P3", verdictTests, untrue, []edit{{"infra/kit/verdict/history.go",
		`b.claim != "" && b.claim != c.ClaimID`, `false`}}},
	{"the verdict takes a claim that the table does not have", "P4", verdictTests, untrue, []edit{{comparing,
		`b.claim != "" && b.claim != is.ClaimID`, `false`}}},
	{"the verdict takes a winner who was never told", "P5", verdictTests, untrue, []edit{{comparing,
		`b.claim == "" && is.ClaimID != ""`, `false`}}},
	{"the verdict takes sold-out while units are left", "P6", verdictTests, untrue, []edit{{comparing,
		`left > 0 && !c.`, `left < 0 && !c.`}}},
	{"the verdict takes sold-out before a unit is sold", "P6", verdictTests, untrue, []edit{{comparing,
		`next < len(claims) && !c.`, `next > len(claims) && !c.`}}},
	{"the verdict takes two answers to one key", "P9", verdictTests, untrue, []edit{{"infra/kit/verdict/history.go",
		`again && !bytes.Equal`, `!again && !bytes.Equal`}}},
	{"the verdict takes a payment that the table does not have", "P24", verdictTests, "^TestEveryBrokenPromiseOfAPayment", []edit{{comparing,
		`told.outcome != want || (want`, `told.outcome != want && (want`}}},
	{"the verdict takes a unit that is paid and left", "P23", verdictTests, "^TestEveryBrokenPromiseOfAPayment", []edit{{comparing,
		`paid+c.books.Stock() != c.books.Seeded`, `paid+c.books.Stock() < c.books.Seeded`}}},
	{"an acceptance of another sale is an acceptance", "P4", "./infra/kit/client", "^TestAnswersToPurchases", []edit{{"infra/kit/client/outcome.go",
		`c.ClaimID != "" && c.SaleID == saleID`, `c.ClaimID != ""`}}},
	{"the units left read eventually", "P6", ledgerTests, "^TestACountThatFindsNothing", []edit{{"shared/ledger/remaining.go",
		`if r.Units == 0 && !consistent {`, `if false {`}}},
	{"shards that a count found empty are counted each second", "P16", ledgerTests, "^TestShardsThatACount", []edit{{"shared/ledger/remaining.go",
		`v.observe(s.Version, k)`, `v.observe(s.Version-1, k)`}}},
	{"the units left are counted each second before the opening", "P16", ledgerTests, "^TestRemainingUnitsAreCountedOnceAMinute", []edit{{"shared/ledger/remaining.go",
		`now.Add(unchangedAge)`, `now.Add(remainingAge)`}}},
	{"the units left before the opening are told after it", "P6", ledgerTests, "^TestRemainingUnitsAreCountedOnceAMinute", []edit{{"shared/ledger/remaining.go",
		`if now.Before(s.OpensAt) && s.OpensAt.Before(until) {`, `if false {`}}},
	{"nothing is left because every shard was empty at some time", "P6", ledgerTests, "^TestNothingIsLeftOnlyIf", []edit{{"shared/ledger/remaining.go",
		`if r.Units == 0 && !s.SoldOut() {`, `if false {`}}},
	{"half of an addition makes a sale sold out", "P6", ledgerTests, "^TestHalfOfAnAddition", []edit{{"shared/ledger/remaining.go",
		`k < s.Shards && isSettled`, `k < s.Shards`}}},
	{"what half of an addition shows is told for a minute", "P6", ledgerTests, "^TestHalfOfAnAddition", []edit{{"shared/ledger/remaining.go",
		`			if isSettled {
`, `			if true {
`}}},
	{"an addition's receipts read eventually", "P15", ledgerTests, "^TestARepeatedAddition", []edit{{"shared/ledger/get.go",
		`in.TableName, in.ConsistentRead = l.table, &consistent`, `in.TableName = l.table`}}},
	{"a throttle without a name that we know is hopeless", "P5", ledgerTests, "^TestAnAnswerNobodyKnowsIsJudgedByItsStatus$", []edit{{"shared/ledger/retry.go",
		`case status == http.StatusTooManyRequests, skewed(err):`, `case skewed(err):`}}},
	{"a throttle by another name is hopeless", "P5", ledgerTests, "^TestWhatTheSDKRetriesIsNeverHopeless$", []edit{{"shared/ledger/retry.go",
		`"TooManyRequestsException", "SlowDown", `, `"SlowDown", `}}},
	{"a clock that is minutes off fails a request", "P5", ledgerTests, "^TestAClockThatIsMinutesOff", []edit{{"shared/ledger/retry.go",
		`return ok && refused.RetryableError()`, `return ok && !refused.RetryableError()`}}},
	{"an attribute of an unknown type is missing", "P19", ledgerTests, "^TestAnAttributeOfATypeThatTheSDKDoesNotKnow", []edit{{ledgerItems,
		`	_, there := it[name]
	return there`, `	return it[name] != nil`}}},
	{"a hot partition in a cancellation is an unknown reason", "P5", ledgerTests, "^TestContentionInEveryPosition", []edit{{"shared/ledger/retry.go",
		`case reasonConflict, reasonThroughput, reasonThrottling, reasonInProgress,`, `case reasonConflict, reasonThrottling, reasonInProgress,`}}},
	{"whether an item exists is read eventually, simulated", "P15", simulation, under + "^lagging_reads$", []edit{{"shared/ledger/get.go",
		`Key: key, ConsistentRead: &consistent}`, `Key: key}`}}},
	{"an environment believes what it knew before it was frozen", "P6", simulation, under + "^freezes$", []edit{{"shared/clock/clock.go",
		`return t.Round(0).UTC()`, `return t`}}},
	{"half of a transaction is taken for broken books", "P2", ledgerTests, overFake + "^what_changes_while_a_pass_looks", []edit{{auditing,
		`if slices.Contains(a.Suspects, m.Key) {`, `if true {`}, {auditing,
		`if len(keys) > 0 && a.Suspects == nil {`, `if false {`}}},
	{"contention on the claim beside a failed condition is an unknown reason", "P5", simulation, under + "^vague_reasons$", []edit{{"shared/ledger/reasons.go",
		`	case contention(claimCode) || contention(guardCode):
		return verdict{keepShard: stockCode == reasonNone}, nil
	case stockCode != reasonCondition || claimCode != reasonNone || guardCode != reasonNone:`, `	case stockCode != reasonCondition:`}}},
	{"a sale is refused for what a lagging read says", "P6", simulation, under + "^lagging_reads$", []edit{{"shared/ledger/snapshot.go",
		"v.certain = false", "v.certain = true"}}},
	{"clocks that differ by a minute are broken books", "P7", simulation, under + "^skewed_clocks$", []edit{{auditingClaims,
		`.Add(-clockSkew).Truncate(time.Second)`, `.Add(-clockSkew)`}}},
	{"an order id's second and its day of two instants, simulated", "P7", simulation, under + "^midnight$", []edit{{"shared/ledger/sequence.go",
		`orderid.New(now, `, `orderid.New(l.now(), `}}},
	{"a shard put without its condition", "P15", simulation, under + "^rough_seeding$", []edit{{creating,
		`return l.putAbsent(ctx, shardItem(s, k, units))`, `return asInternal(l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: l.table, Item: shardItem(s, k, units)})
		return err
	}))`}}},
	{"a lost message waits for as long as poison comes", "P8", simulation, under + "^poison$", []edit{{resending,
		`if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {`, `if full {`}}},
	{"a withdrawal is made again when its answer was lost, in some plan", "P15", enumeration, "^TestEveryPlan/^scenarios$/^one_withdrawal_by_two", []edit{{withdrawing,
		`[]types.TransactWriteItem{p.put(receipt)}`, `[]types.TransactWriteItem{{Put: &types.Put{TableName: p.table, Item: receipt}}}`}}},
	{"an edit is made again when its answer was lost, in some plan", "P32", enumeration, "^TestEveryPlan/^scenarios$/^one_pause_by_two", []edit{{trail,
		`		if h.asked != nil {`, `		if false {`}}},
	{"units that are being bought are withdrawn, simulated", "P2", simulation, under + "^withdrawals$", []edit{{withdrawing,
		`aws.String("#stock = :u")`, `aws.String("attribute_exists(#stock)")`}}},
	{"whether a sale may be drained is decided when its pass is resumed", "P8", enumeration, "^TestEveryPlan/^scenarios$/^a_pass_that_began", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: now.Sub(s.ClosesAt) >= DrainAfter,`}, {auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
}
