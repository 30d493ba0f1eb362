package mutants

// ofBuyingAndSeeding break purchases, confirmation, seeding and edits.
var ofBuyingAndSeeding = []mutant{
	{"the window and the pause checked outside the transaction", "P14", ledgerTests, overFake + "^the_window_is_the_shard", []edit{{purchasing,
		`#opensAt <= :now AND #closesAt > :now AND #paused = :no`,
		`(#opensAt <= :now OR #opensAt > :now) AND (#closesAt > :now OR #closesAt <= :now) AND (#paused = :no OR #paused <> :no)`}}},
	{"a starved statement waits as long as any other", "P16", ledgerTests, "^TestAStarvedStatement", []edit{{"shared/ledger/batches.go",
		`starving: true`, `starving: false`}}},
	{"an error means no", "P5", ledgerTests, "^TestUnansweredOrContendedToTheEnd", []edit{{purchasing,
		`if !p.left.again(ctx) {
			return p.fail(sale.Busy, err)`, `if !p.left.again(ctx) {
			return PurchaseResult{}, sale.Refuse(sale.SoldOut, "")`}}},
	{"after an unknown outcome a refusal is believed", "P5", ledgerTests, "^TestAfterAnUnknownOutcome", []edit{{purchasing,
		`		p.unsure = true
`, ``}}},
	{"after an unknown outcome a shard's refusal is believed", "P5", ledgerTests, "^TestAfterAnUnknownOutcomeTheShards", []edit{{purchasing,
		`case v.refusal != nil && p.unsure:`, `case false:`}}},
	{"own claim taken for somebody else's after an unknown outcome", "P5", ledgerTests, "^TestAPurchaseWhoseAnswerWasLost", []edit{{purchasing,
		`if held.ID == p.claimID {`, `if false {`}}},
	{"sold out from a guess", "P6", ledgerTests, "^TestTwoShardsNeverEmpty", []edit{{purchasing,
		`if s.certain && s.sale.SoldOut() {`, `if true {`}}},
	{"sold out beats a claim", "P9", ledgerTests, overFake + "^a_claim_beats", []edit{{purchasing,
		`if p.request.Key == "" || s.Buckets == 0 {`, `if true {`}}},
	{"a winner without a key is told sold out", "P5", ledgerTests, "^TestAWinnerWithoutAKey", []edit{{purchasing,
		`if p.request.Key == "" && slices.Contains(finalRefusals`, `if false && slices.Contains(finalRefusals`}}},
	{"a winner without a key is told sold out, simulated", "P5", enumeration, "^TestEveryPlan/^scenarios$/^a_winner_without", []edit{{purchasing,
		`if p.request.Key == "" && slices.Contains(finalRefusals`, `if false && slices.Contains(finalRefusals`}}},
	{"a winner without a key is told closed", "P5", ledgerTests, "^TestAWinnerWithoutAKey", []edit{{purchasing,
		`{sale.SoldOut, sale.Closed, `, `{sale.SoldOut, `}}},
	{"whoever comes too early costs a read", "P16", ledgerTests, "^TestAWinnerWithoutAKey", []edit{{purchasing,
		`slices.Contains(finalRefusals, refusal.Code)`, `!slices.Contains(finalRefusals, "")`}}},
	{"a read before a refusal is consistent", "P16", ledgerTests, "^TestALoserWithoutAKey", []edit{{readingBeforeRefusal,
		`p.request.User), false)`, `p.request.User), true)`}}},
	{"a read before a refusal is repeated", "P16", ledgerTests, "^TestARefusalReadThatFails", []edit{{readingBeforeRefusal,
		`p.ledger.readItem(ctx, 1, `, `p.ledger.readItem(ctx, maxTries, `}}},
	{"reads before refusals never pause", "P16", ledgerTests, "^TestARefusalReadThatFails", []edit{{readingBeforeRefusal,
		`p.ledger.refusalReadFailed.Store(p.ledger.now().UnixNano())`, `p.ledger.refusalReadFailed.Load()`}}},
	{"reads before refusals pause for less than a second", "P16", ledgerTests, "^TestARefusalReadThatFails", []edit{{readingBeforeRefusal,
		`refusalReadPause = time.Second`, `refusalReadPause = time.Second - 1`}}},
	{"reads before refusals pause for longer than a second", "P5", ledgerTests, "^TestARefusalReadThatFails", []edit{{readingBeforeRefusal,
		`refusalReadPause = time.Second`, `refusalReadPause = time.Second + 1`}}},
	{"reads before refusals pause for longer than a second, simulated", "P5", simulation, "^TestSimulationUnder$/^skewed_clocks$", []edit{{readingBeforeRefusal,
		`refusalReadPause = time.Second`, `refusalReadPause = time.Minute`}}},
	{"a read before a refusal delays a refusal as long as any call", "P16", ledgerTests, "^TestARefusalReadDelays", []edit{{readingBeforeRefusal,
		`refusalReadTimeout = 300 * time.Millisecond`, `refusalReadTimeout = callTimeout`}}},
	{"a read before a refusal beside a sale that cannot be read", "P6", ledgerTests, "^TestNoRefusalRead", []edit{{readingBeforeRefusal,
		`p.view.isBackingOff(now) || `, ``}}},
	{"a claim that a read before a refusal cannot read is answered", "P19", ledgerTests, "^TestAClaimThatARefusalRead", []edit{{readingBeforeRefusal,
		`return held, err == nil`, `return held, true`}}},
	{"a user is asked about who only repeats a purchase", "P9", ledgerTests, "^TestAUserIsAskedAbout", []edit{{purchasing,
		`		if answer, found, err := p.findRepeat(ctx, s.sale); found || err != nil {
			return answer, err
		}
		if err := r.CheckUser`, `		if err := r.CheckUser`}}},
	{"what stood before a user was asked about is believed", "P14", ledgerTests, "^TestASaleThatEndsWhile", []edit{{purchasing,
		`		checked = true
`, `		return p.run(ctx)
`}}},
	{"no idempotency key equals no idempotency key", "P3", ledgerTests, "^TestCallsInTheSteadyState$", []edit{{purchasing,
		`if r.Key != "" && r.Key == held.RequestKey &&`, `if r.Key == held.RequestKey &&`}}},
	{"a refusal from a snapshot that could not be read anew", "P6", ledgerTests, "^TestSoldOutIsToldForLess", []edit{{"shared/ledger/snapshot.go",
		`refusalAge = 1900 * time.Millisecond`, `refusalAge = time.Minute`}}},
	{"a refusal that is too old after the search for a claim", "P6", ledgerTests, "^TestARefusalThatIsTooOld", []edit{{purchasing,
		`if !isFresh(p.ledger.now(), s.readAt, refusalAge) {`, `if false {`}}},
	{"a stale read refuses", "P6", ledgerTests, "^TestAStaleReadNeverRefuses", []edit{{"shared/ledger/snapshot.go",
		`v.certain = false`, `v.certain = true`}}},
	{"a stale read confirms what was seen empty", "P6", ledgerTests, "^TestAStaleReadConfirms", []edit{{"shared/ledger/snapshot.go",
		`	v.replace(true, s, readAt, age)
	v.certain = false`, `	v.replace(true, s, readAt, age)
	v.sale.Empty.Union(v.emptySeen)
	v.certain = true`}}},
	{"a read that shows another version confirms what was seen empty", "P6", ledgerTests, "^TestAReadThatShowsAnotherVersion", []edit{{"shared/ledger/snapshot.go",
		`if found && s.Version == r.version {`, `if found {`}}},
	{"an empty shard that cannot be recorded is no try", "P16", "./functions/purchase/handler", "^TestTheWorstCaseWhileEveryShard", []edit{{purchasing,
		`if p.view.lists(shard) {`, `if true {`}}},
	{"a purchase reads a throttled item with each empty shard", "P16", "./functions/purchase/handler", "^TestTheWorstCaseWhileEveryShard", []edit{{purchasing,
		`case p.view.isBackingOff(p.ledger.now()):`, `case false:`}}},
	{"a sale that changes while a shard is closed is no try", "P16", "./functions/purchase/handler", "^TestTheWorstCaseWhileEveryShard.*Changes", []edit{{purchasing,
		`if p.view.lists(shard) {`, `if p.view.lists(shard) || p.view.load(p.ledger.now()).sale.Version != s.sale.Version {`}}},
	{"a buyer stays with a shard that was empty while the sale changed", "P6", ledgerTests, "^TestABuyerWhoseShardIsEmpty", []edit{{purchasing,
		`!changed.avoid.Has(shard)`, `false && changed.avoid.Has(shard)`}}},
	{"an empty shard that is listed is a try", "P6", ledgerTests, "^TestOneBuyerFindsEveryShard", []edit{{purchasing,
		`if p.view.lists(shard) {`, `if false {`}}},
	{"every purchase asks a throttled item", "P16", ledgerTests, "^TestAThrottledSaleItem", []edit{{"shared/ledger/snapshot.go",
		`return v.failed > 0 && since`, `return v.failed < 0 && since`}}},
	{"nobody repeats a throttled closing", "P6", ledgerTests, "^TestAThrottledClosing", []edit{{"shared/ledger/purchase.go",
		`err := p.ledger.retry(ctx, tries, func`, `err := p.ledger.retry(ctx, 1, func`}}},
	{"one's own double click in flight is sold out", "P5", ledgerTests, "^TestOnesOwnDoubleClick", []edit{{"shared/ledger/reasons.go",
		`	case contention(claimCode) || contention(guardCode):
		return verdict{keepShard: stockCode == reasonNone}, nil
	case stockCode != reasonCondition || claimCode != reasonNone || guardCode != reasonNone:`, `	case stockCode != reasonCondition:`}}},
	{"an unknown reason means an empty shard", "P19", ledgerTests, "^TestAReasonNobodyKnows", []edit{{"shared/ledger/reasons.go",
		`	return verdict{}, fmt.Errorf("read cancellation: the shard meets its condition: %w", err)
`, `	return verdict{empty: true}, nil
`}}},
	{"an order id issued again on redelivery", "P7", ledgerTests, overFake + "^confirming_again", []edit{{"shared/ledger/confirm.go",
		`if c.storedID == 0 {`, `if true {`}, {"shared/ledger/confirm.go",
		` AND orderId IS MISSING`, ` AND (orderId IS MISSING OR orderId IS NOT MISSING)`}}},
	{"the order item is not ensured", "P8", ledgerTests, overFake + "^a_confirmed_claim_whose_order", []edit{{"shared/ledger/confirm.go",
		`l.putOrders(ctx, left)`,
		`l.putOrders(ctx, slices.DeleteFunc(left, func(c *confirming) bool { return !c.New }))`}}},
	{"somebody else's order item is taken for one's own", "P7", ledgerTests, "^TestBrokenBooks", []edit{{"shared/ledger/confirm.go",
		`	l.checkOrders(ctx, existing)
`, ``}}},
	{"one contended statement fails for good", "P5", ledgerTests, "^TestTheStatementThatMeetsContention", []edit{{"shared/ledger/batches.go",
		`if o := judge(err); o == contended || o == unknown {`, `if o := judge(err); o == unknown {`}}},
	{"a whole batch is tried again for one statement", "P16", ledgerTests, "^TestTheStatementThatMeetsContention", []edit{{"shared/ledger/batches.go",
		`				again = append(again, i)
`, `				again = again[:0]
				for i = range errs {
					again = append(again, i)
				}
`}}},
	{"a poison message takes a number", "P10", ledgerTests, overFake + "^each_poison_claim", []edit{{"shared/ledger/confirm.go",
		`	l.loadClaims(ctx, left)
	left = withoutFailed(left)
`, `	l.loadClaims(ctx, left)
`}}},
	{"restock without reopening the shard", "P6", ledgerTests, overFake + "^a_restock_reopens", []edit{{"shared/ledger/add.go",
		`":k": numberSet(k)`, `":k": numberSet(sale.MaxShards - 1)`}}},
	{"an addition applied at every repeat", "P15", ledgerTests, overFake + "^units_are_added_once", []edit{{"shared/ledger/add.go",
		`		l.put(receipt),
`, `		types.TransactWriteItem{Put: &types.Put{TableName: l.table, Item: receipt}},
`}, {"shared/ledger/add.go",
		`		if applied[identityOf(seedShardKey(a.SaleID, a.SeedID, k))] != nil {
			continue
		}
`, `		_ = applied
`}}},
	{"a withdrawal is made again by its repeat", "P15", ledgerTests, overFake + "^units_are_withdrawn_once", []edit{{withdrawing,
		`	if err := p.resume(ctx); err != nil {
		return Withdrawn{}, err
	}
`, ``}, {withdrawing,
		`[]types.TransactWriteItem{p.put(receipt)}`, `[]types.TransactWriteItem{{Put: &types.Put{TableName: p.table, Item: receipt}}}`}}},
	{"two callers of one withdrawal take twice", "P15", ledgerTests, overFake + "^a_withdrawal_that_is_overtaken", []edit{{withdrawing,
		`[]types.TransactWriteItem{p.put(receipt)}`, `[]types.TransactWriteItem{{Put: &types.Put{TableName: p.table, Item: receipt}}}`}}},
	{"a withdrawal that found nothing left goes on at its repeat", "P15", ledgerTests, overFake + "^a_unit_that_was_sold_is_not", []edit{{withdrawing,
		`	for !p.ended && p.taken < w.Stock {`, `	for first := true; first || !p.ended && p.taken < w.Stock; first = false {`}}},
	{"an addition passes for a withdrawal", "P15", ledgerTests, overFake + "^a_seed_id_stands_for_one", []edit{{withdrawing,
		`Action: sale.ActionWithdraw`, `Action: sale.ActionAdd`}}},
	{"a withdrawal is not audited", "P11", ledgerTests, overFake + "^a_sale_that_is_drained", []edit{{withdrawing,
		`, p.undrain(p.SaleID))`, `)`}}},
	{"units are taken from the first shards only", "P15", "./shared/sale", "^TestWhatIsTakenLeaves", []edit{{"shared/sale/spread.go",
		`		if takes[k] = max(0, n-level); takes[k] > 0 && spare > 0 {`, `		if takes[k] = min(n, units); takes[k] < 0 {`}, {"shared/sale/spread.go",
		`			takes[k]--
			spare--
		}
`, `			spare--
		}
		units -= takes[k]
`}}},
	{"a withdrawal gives back the room of what it was to take", "P15", ledgerTests, overFake + "^a_withdrawal_gives_room_back", []edit{{withdrawing,
		`", #room = #room + :u"`, `", #room = #room + :all"`}, {withdrawing,
		`		names["#room"] = "room"
`, `		names["#room"], values[":all"] = "room", num(p.Stock)
`}}},
	{"a creation's maxStock is forgotten", "P15", ledgerTests, overFake + "^a_creation_with_another_maxStock", []edit{{creating,
		` && r.optionalNumber("maxStock") == c.MaxStock`, ``}}},
	{"an edit writes its own part into the shards only", "P14", ledgerTests, overFake + "^an_edit_that_was_cut_off", []edit{{editing,
		`	if err := l.editShards(ctx, done.Sale, nil); err != nil {`, `	done.Sale.Paused = e.Paused != nil && *e.Paused
	if err := l.editShards(ctx, done.Sale, nil); err != nil {`}}},
	{"an edit without an instant is of now, whatever stands", "P14", ledgerTests, overFake + "^an_edit_without_an_instant", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `l.now().UnixMilli()`}}},
	{"an edit without an instant is of the instant that stands", "P14", ledgerTests, overFake + "^a_scheduled_pause_that_is_delivered", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `max(l.now().UnixMilli(), newest)`}}},
	{"an edit without an instant is just after the one that stands", "P14", ledgerTests, overFake + "^an_edit_without_an_instant", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `newest+1`}}},
	{"an edit of the instant that stands applies again", "P9", ledgerTests, overFake + "^pause_and_resume_reach", []edit{{editing,
		`		case at <= newest:`, `		case at < newest:`}}},
	{"an edit writes over one that it has not read", "P14", ledgerTests, overFake + "^an_edit_that_loses_the_race_to_a_newer", []edit{{trail,
		`"#changedAt = :before AND attribute_not_exists(#edits)"`, `"#changedAt = :before OR #changedAt <> :before"`}, {trail,
		`		l.put(entry),
`, `		{Put: &types.Put{TableName: l.table, Item: entry}},
`}}},
	{"an edit races without end", "P16", ledgerTests, "^TestAnEditThatAlwaysLosesTheRace", []edit{{trail,
		`l.upTo(patientTries)`, `l.upTo(2 * patientTries)`}}},
	{"a shard is made by an edit", "P15", ledgerTests, "^TestWhatNeedsAnItemThatIsGone", []edit{{editing,
		`"#changedAt < :at"`, `"#changedAt < :at OR attribute_not_exists(pk)"`}}},
	{"an edit is content with a sale that is not as it asks", "P14", ledgerTests, overFake + "^an_edit_that_another_overtakes", []edit{{editing,
		`	if !e.Agrees(done.Sale) {`, `	if false {`}}},
	{"an edit is answered before its last shard is written", "P14", ledgerTests, overFake + "^an_older_edit_that_agrees", []edit{{editing,
		`	each(s.Shards, func(k int) {`, `	each(s.Shards-1, func(k int) {`}}},
	{"contention beside a failed condition is taken for an answer", "P5", ledgerTests, "^TestContentionInEveryPosition", []edit{{"shared/ledger/transact.go",
		`case !contended && refused:`, `case refused:`}}},
	{"a transaction in contention is given up", "P5", ledgerTests, "^TestContentionInEveryPosition", []edit{{"shared/ledger/transact.go",
		`				contended = true
`, `				return nil, asInternal(err)
`}}},
	{"a sale that is stored in part is taken for whole", "P19", ledgerTests, overFake + "^a_sale_that_is_stored_in_part", []edit{{creating,
		`failed(reasons[1]), failed(reasons[2])}; there`, `failed(reasons[1]), true}; there`}}},
	{"a sale without its item is taken for whole", "P19", ledgerTests, overFake + "^a_sale_that_is_stored_in_part", []edit{{creating,
		`failed(reasons[1]), failed(reasons[2])}; there`, `true, failed(reasons[2])}; there`}}},
	{"a sale without its request is taken for another request's", "P19", ledgerTests, overFake + "^a_sale_that_is_stored_in_part", []edit{{creating,
		`there := [...]bool{failed(reasons[0]),`, `there := [...]bool{true,`}}},
	{"a shard is put without its condition", "P15", ledgerTests, overFake + "^a_creation_that_comes_too_late", []edit{{creating,
		`return l.putAbsent(ctx, shardItem(s, k, units))`, `return asInternal(l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: l.table, Item: shardItem(s, k, units)})
		return err
	}))`}}},
	{"a creation that is repeated writes over the sale", "P15", ledgerTests, overFake + "^creating_again", []edit{{"shared/ledger/transact.go",
		`		TableName: l.table, Item: it, ConditionExpression: &ifAbsent,`, `		TableName: l.table, Item: it,`}}},
	{"the SDK tries again under the ledger", "P16", ledgerTests, "^TestTheClientOfAFunctionMakesOneAttempt", []edit{{"shared/ledger/ledger.go",
		`dynamodb.NewFromConfig(cfg, OneAttempt, func`, `dynamodb.NewFromConfig(cfg, func`}}},
	{"a new sale asks for payment of any amount", "P24", "./functions/seed/handler", "^TestPriceAndPayWithin", []edit{{seedingRules,
		`if (c.PayWithin != 0) != (c.Price != 0) {`, `if c.PayWithin == 0 && c.Price != 0 {`}}},
	{"a creation of an older release is refused when it is repeated", "P9", "./functions/seed/handler", "^TestPriceAndPayWithin", []edit{{"shared/change/change.go",
		`failed != nil || !stored {`, `failed != nil || !stored || stored {`}}},
	{"an instant that is given is not used", "P9", "./functions/seed/handler", "^TestEveryEventOfThisFunction", []edit{{"shared/change/request.go",
		`	if r.At != nil {`, `	if false {`}}},
	{"the zero instant passes for none", "P14", "./functions/seed/handler", "^TestAnInvalidRequest", []edit{{"shared/change/request.go",
		`		if e.At.IsZero() {`, `		if false {`}}},
	{"an agreeing pause flag is not asked for", "P14", ledgerTests, overFake + "^an_older_edit_that_disagrees", []edit{{seedingRules,
		`	if e.Paused != nil && s.Paused != *e.Paused {`, `	if false {`}}},
	{"an agreeing opening is not asked for", "P14", "./shared/sale", "^TestAnEditAgrees", []edit{{seedingRules,
		`s.Begins().UnixMilli() == e.OpensAt.UnixMilli() && `, ``}}},
	{"an agreeing end is not asked for", "P14", "./shared/sale", "^TestAnEditAgrees", []edit{{seedingRules,
		` && s.Ends().UnixMilli() == e.ClosesAt.UnixMilli()`, ``}}},
}
