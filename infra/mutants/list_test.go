package mutants

// edit replaces the one place in a file where old stands.
type edit struct{ file, old, new string }

// mutant is one way to break the system, and the test that must notice.
type mutant struct {
	name    string
	promise string
	pkg     string
	test    string // as go test -run takes it
	edits   []edit
}

const (
	purchasing   = "shared/ledger/purchase.go"
	creating     = "shared/ledger/create.go"
	adding       = "shared/ledger/add.go"
	editing      = "shared/ledger/edit.go"
	seedingRules = "shared/sale/seeding.go"
	ledgerTests  = "./shared/ledger"
	bookTests    = "./infra/books"
	overFake     = "^TestTheLedgerOverTheFake$/"

	auditing       = "shared/ledger/audit.go"
	auditingClaims = "shared/ledger/audit_claims.go"
	reconciling    = "./functions/reconcile/handler"
	reconcile      = "functions/reconcile/handler/handler.go"
	resending      = "functions/reconcile/handler/resend.go"

	// Here a read that should be consistent and is not sees nothing.
	overLaggingFake = "^TestTheLedgerOverAFakeWhoseReadsLag$"

	simulation = "./infra/simulate"
	under      = "^TestSimulationUnder$/"
)

var mutants = []mutant{
	{"no stock condition", "P1", ledgerTests, overFake + "^64_buyers", []edit{{purchasing,
		`"#stock > :zero AND `, `"(#stock > :zero OR #stock <= :zero) AND `}}},
	{"no uniqueness", "P3", ledgerTests, overFake + "^a_second_order", []edit{{purchasing,
		`		ConditionExpression:                 &ifAbsent,`, `		ConditionExpression:                 &takeAny,`}, {purchasing,
		`	ifAbsent          = `, "	takeAny           = \"attribute_not_exists(nothing)\"\n	ifAbsent          = "}}},
	{"the window and the pause checked outside the transaction", "P14", ledgerTests, overFake + "^the_window_is_the_shard", []edit{{purchasing,
		`#opensAt <= :now AND #closesAt > :now AND #paused = :no`,
		`(#opensAt <= :now OR #opensAt > :now) AND (#closesAt > :now OR #closesAt <= :now) AND (#paused = :no OR #paused <> :no)`}}},
	{"an error means no", "P5", ledgerTests, "^TestUnansweredOrContendedToTheEnd", []edit{{purchasing,
		`			return p.fail(sale.Busy, err)
		}
		if !s.tail() {`, `			return Purchase{}, sale.Refuse(sale.SoldOut, "")
		}
		if !s.tail() {`}}},
	{"after an unknown outcome a refusal is believed", "P5", ledgerTests, "^TestAfterAnUnknownOutcome", []edit{{purchasing,
		`			p.unsure = true
`, ``}}},
	{"after an unknown outcome a shard's refusal is believed", "P5", ledgerTests, "^TestAfterAnUnknownOutcomeTheShards", []edit{{purchasing,
		`case v.refusal != nil && p.unsure:`, `case false:`}}},
	{"own claim taken for somebody else's after an unknown outcome", "P5", ledgerTests, "^TestAPurchaseWhoseAnswerWasLost", []edit{{purchasing,
		`if held.ID == p.claimID {`, `if false {`}}},
	{"sold out from a guess", "P6", ledgerTests, "^TestTwoShardsNeverEmpty", []edit{{purchasing,
		`if s.certain && s.sale.SoldOut() {`, `if true {`}}},
	{"sold out beats a claim", "P9", ledgerTests, overFake + "^a_claim_beats", []edit{{purchasing,
		`if p.Key != "" && s.Buckets > 0 {`, `if false {`}}},
	{"a shard closed although the sale was restocked meanwhile", "P6", ledgerTests, overFake + "^a_shard_that_was_restocked", []edit{{purchasing,
		`ifVersion        = "#version = :v"`, `ifVersion        = "#version >= :v"`}}},
	{"no idempotency key equals no idempotency key", "P3", ledgerTests, "^TestCallsInTheSteadyState$", []edit{{purchasing,
		`if r.Key != "" && r.Key == held.RequestKey {`, `if r.Key == held.RequestKey {`}}},
	{"a refusal from a snapshot that could not be read anew", "P6", ledgerTests, "^TestSoldOutIsToldForLess", []edit{{"shared/ledger/snapshot.go",
		`refusalAge = 1900 * time.Millisecond`, `refusalAge = time.Minute`}}},
	{"a stale read refuses", "P6", ledgerTests, "^TestAStaleReadNeverRefuses", []edit{{"shared/ledger/snapshot.go",
		`v.known, v.found, v.certain, v.sale = true, true, false, s`, `v.known, v.found, v.certain, v.sale = true, true, true, s`}}},
	{"a stale read confirms what was seen empty", "P6", ledgerTests, "^TestAStaleReadConfirms", []edit{{"shared/ledger/snapshot.go",
		`v.known, v.found, v.certain, v.sale = true, true, false, s`,
		`s.Empty.Union(v.pending); v.known, v.found, v.certain, v.sale = true, true, true, s`}}},
	{"every purchase asks a throttled item", "P16", ledgerTests, "^TestAThrottledSaleItem", []edit{{"shared/ledger/snapshot.go",
		`return v.failed > 0 && since`, `return v.failed < 0 && since`}}},
	{"nobody repeats a throttled closing", "P6", ledgerTests, "^TestAThrottledClosing", []edit{{"shared/ledger/purchase.go",
		`err := p.retry(ctx, maxTries, func`, `err := p.retry(ctx, 1, func`}}},
	{"one's own double click in flight is sold out", "P5", ledgerTests, "^TestOnesOwnDoubleClick", []edit{{"shared/ledger/reasons.go",
		`	case contention(claimCode):
		return verdict{again: true, keepShard: stockCode == reasonNone}, nil
	case stockCode != reasonCondition || claimCode != reasonNone:`, `	case stockCode != reasonCondition:`}}},
	{"an unknown reason means an empty shard", "P19", ledgerTests, "^TestAReasonNobodyKnows", []edit{{"shared/ledger/reasons.go",
		`	return verdict{}, fmt.Errorf("read cancellation: the shard meets its condition: %w", err)
`, `	return verdict{empty: true}, nil
`}}},
	{"an order id issued again on redelivery", "P7", ledgerTests, overFake + "^confirming_again", []edit{{"shared/ledger/confirm.go",
		`if c.held == 0 {`, `if true {`}, {"shared/ledger/confirm_statements.go",
		` AND orderId IS MISSING`, ` AND (orderId IS MISSING OR orderId IS NOT MISSING)`}}},
	{"an order id replaced by a finalizer that was overtaken", "P7", ledgerTests, overFake + "^a_claim_that_another_finalizer", []edit{{"shared/ledger/confirm_statements.go",
		` AND orderId IS MISSING`, ` AND (orderId IS MISSING OR orderId IS NOT MISSING)`}}},
	{"the order item is not ensured", "P8", ledgerTests, overFake + "^a_confirmed_claim_whose_order", []edit{{"shared/ledger/confirm.go",
		`l.putOrders(ctx, left)`,
		`l.putOrders(ctx, slices.DeleteFunc(left, func(c *confirming) bool { return !c.New }))`}}},
	{"somebody else's order item is taken for one's own", "P7", ledgerTests, "^TestBrokenBooks", []edit{{"shared/ledger/confirm.go",
		`	l.checkOrders(ctx, there)
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
		`	l.find(ctx, left)
	left = standing(left)
`, `	l.find(ctx, left)
`}}},
	{"restock without reopening the shard", "P6", ledgerTests, overFake + "^a_restock_takes", []edit{{"shared/ledger/add.go",
		`":k": numberSet(k)`, `":k": numberSet(sale.MaxShards - 1)`}}},
	{"an addition applied at every repeat", "P15", ledgerTests, overFake + "^units_are_added_once", []edit{{"shared/ledger/add.go",
		`		l.put(receipt),
`, `		types.TransactWriteItem{Put: &types.Put{TableName: l.table, Item: receipt}},
`}, {"shared/ledger/add.go",
		`		if applied[seedShardSK(a.SeedID, k)] {
			continue
		}
`, `		_ = applied
`}}},
	{"an edit writes its own part into the shards only", "P14", ledgerTests, overFake + "^an_edit_that_was_cut_off", []edit{{editing,
		`	errs := make([]error, s.Shards)
`, `	s.Paused = e.Paused != nil && *e.Paused
	errs := make([]error, s.Shards)
`}}},
	{"an edit without an instant is of now, whatever stands", "P14", ledgerTests, overFake + "^an_edit_without_an_instant", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `l.now().UnixMilli()`}}},
	{"an edit without an instant is of the instant that stands", "P14", ledgerTests, overFake + "^a_scheduled_pause_that_is_delivered", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `max(l.now().UnixMilli(), newest)`}}},
	{"an edit without an instant is just after the one that stands", "P14", ledgerTests, overFake + "^an_edit_without_an_instant", []edit{{editing,
		`max(l.now().UnixMilli(), newest+1)`, `newest+1`}}},
	{"an edit takes the sale's state for its own", "P14", ledgerTests, overFake + "^the_first_edit_without", []edit{{editing,
		`if before.ChangedAt.Equal(after.ChangedAt) && e.Agrees(before) {`, `if e.Agrees(before) {`}}},
	{"an edit takes another of its instant for its own", "P14", ledgerTests, overFake + "^an_edit_that_loses_the_race_to_another_of", []edit{{editing,
		`if before.ChangedAt.Equal(after.ChangedAt) && e.Agrees(before) {`, `if before.ChangedAt.Equal(after.ChangedAt) {`}}},
	{"an edit whose answer was lost applies again", "P9", ledgerTests, "^TestAnEditWhoseAnswerWasLost", []edit{{editing,
		`if before.ChangedAt.Equal(after.ChangedAt) && e.Agrees(before) {`, `if false {`}}},
	{"an edit that lost a race takes a sale that agrees for its own", "P14", ledgerTests, overFake + "^an_edit_that_loses_the_race_to_an_older", []edit{{editing,
		`if before.ChangedAt.Equal(after.ChangedAt) && e.Agrees(before) {`, `if !after.ChangedAt.IsZero() && e.Agrees(before) {`}}},
	{"an edit of the instant that stands applies again", "P9", ledgerTests, overFake + "^pause_and_resume_reach", []edit{{editing,
		`		case at <= newest:`, `		case at < newest:`}}},
	{"an edit writes over one that it has not read", "P14", ledgerTests, overFake + "^an_edit_that_loses_the_race_to_a_newer", []edit{{editing,
		`"#changedAt = :before"`, `"#changedAt = :before OR #changedAt <> :before"`}}},
	{"an edit races without end", "P16", ledgerTests, "^TestAnEditThatAlwaysLosesTheRace", []edit{{editing,
		`case try+1 >= patientTries || !l.backOff(ctx, try):
			return after`, `case try+1 >= 2*patientTries || !l.backOff(ctx, try):
			return after`}}},
	{"an older edit writes over a newer one in the shards", "P14", ledgerTests, overFake + "^an_edit_that_is_overtaken_before_its_shards", []edit{{editing,
		`"#changedAt < :at"`, `"#changedAt < :at OR #changedAt >= :at"`}}},
	{"a shard is made by an edit", "P15", ledgerTests, "^TestWhatNeedsAnItemThatIsGone", []edit{{editing,
		`"#changedAt < :at"`, `"#changedAt < :at OR attribute_not_exists(pk)"`}}},
	{"a listing is made by a rescheduling", "P15", ledgerTests, "^TestWhatNeedsAnItemThatIsGone", []edit{{editing,
		`"attribute_exists(pk)"`, `"attribute_exists(pk) OR attribute_not_exists(pk)"`}}},
	{"a listing is made by an addition", "P15", ledgerTests, "^TestWhatNeedsAnItemThatIsGone", []edit{{adding,
		`		UpdateExpression:         aws.String("REMOVE #drained"),
		ConditionExpression:      aws.String("attribute_exists(pk)"),`, `		UpdateExpression:         aws.String("REMOVE #drained"),
		ConditionExpression:      aws.String("attribute_exists(pk) OR attribute_not_exists(pk)"),`}}},
	{"an edit is content with a sale that is not as it asks", "P14", ledgerTests, overFake + "^an_edit_that_another_overtakes", []edit{{editing,
		`	if !e.Agrees(s) {`, `	if false {`}}},
	{"an edit is answered before its last shard is written", "P14", ledgerTests, overFake + "^an_older_edit_that_agrees", []edit{{editing,
		`	each(s.Shards, func(k int) {`, `	each(s.Shards-1, func(k int) {`}}},
	{"contention beside a failed condition is taken for an answer", "P5", ledgerTests, "^TestContentionInEveryPosition", []edit{{creating,
		`case !contended && refused:`, `case refused:`}}},
	{"a transaction in contention is given up", "P5", ledgerTests, "^TestContentionInEveryPosition", []edit{{creating,
		`				contended = true
`, `				return nil, foreign(err)
`}}},
	{"a sale that is stored in part is taken for whole", "P19", ledgerTests, "^TestASaleThatIsStoredInPart", []edit{{creating,
		`failed(reasons[1]), failed(reasons[2])}; there`, `failed(reasons[1]), true}; there`}}},
	{"a sale without its item is taken for whole", "P19", ledgerTests, "^TestASaleThatIsStoredInPart", []edit{{creating,
		`failed(reasons[1]), failed(reasons[2])}; there`, `true, failed(reasons[2])}; there`}}},
	{"a sale without its request is taken for another request's", "P19", ledgerTests, "^TestASaleThatIsStoredInPart", []edit{{creating,
		`there := [...]bool{failed(reasons[0]),`, `there := [...]bool{true,`}}},
	{"a shard is put without its condition", "P15", ledgerTests, overFake + "^a_creation_that_comes_too_late", []edit{{creating,
		`TableName: l.table, Item: shardItem(s, k, units), ConditionExpression: &ifAbsent,`, `TableName: l.table, Item: shardItem(s, k, units),`}}},
	{"a late creation opens the sale again", "P15", ledgerTests, overFake + "^a_creation_that_comes_too_late", []edit{{creating,
		`	ifState  = "#state = :draft"`, `	ifState  = "#state = :draft OR #state <> :draft"`}}},
	{"a creation that is repeated writes over the sale", "P15", ledgerTests, overFake + "^creating_again", []edit{{creating,
		`		TableName: l.table, Item: it, ConditionExpression: &ifAbsent,`, `		TableName: l.table, Item: it,`}}},
	{"the SDK tries again under the ledger", "P16", ledgerTests, "^TestTheClientOfAFunctionMakesOneAttempt", []edit{{"shared/ledger/ledger.go",
		`dynamodb.NewFromConfig(cfg, OneAttempt, func`, `dynamodb.NewFromConfig(cfg, func`}}},
	{"an instant that is given is not used", "P9", "./functions/seed/handler", "^TestAnEditSaysWhatItChanges", []edit{{"functions/seed/handler/request.go",
		`	if r.At != nil {`, `	if false {`}}},
	{"the zero instant passes for none", "P14", "./functions/seed/handler", "^TestAnInvalidRequest", []edit{{"functions/seed/handler/request.go",
		`		if e.At.IsZero() {`, `		if false {`}}},
	{"an agreeing pause flag is not asked for", "P14", ledgerTests, overFake + "^an_older_edit_that_disagrees", []edit{{seedingRules,
		`	if e.Paused != nil && s.Paused != *e.Paused {`, `	if false {`}}},
	{"an agreeing opening is not asked for", "P14", "./shared/sale", "^TestAnEditAgrees", []edit{{seedingRules,
		`s.OpensAt.UnixMilli() == e.OpensAt.UnixMilli() && `, ``}}},
	{"an agreeing end is not asked for", "P14", "./shared/sale", "^TestAnEditAgrees", []edit{{seedingRules,
		` && s.ClosesAt.UnixMilli() == e.ClosesAt.UnixMilli()`, ``}}},
	{"resending without grace or memory", "P17", ledgerTests, overFake + "^a_pending_claim_may_be_resent", []edit{{"shared/ledger/claims.go",
		`return max(ResendGrace, now.Sub(c.AcceptedAt)/2)`, `return ResendGrace / 2`}}},
	{"reconcile ignoring its grace", "P17", ledgerTests, overFake + "^a_claim_within_its_grace", []edit{{"shared/ledger/claims.go",
		`if now.Sub(c.AcceptedAt) <= ResendGrace {`, `if false {`}}},
	{"no reconcile", "P8", reconciling, "^TestALostMessageIsSentAgain", []edit{{"functions/reconcile/handler/resend.go",
		`if len(claims) == 0 {`, `if true {`}}},
	{"a sale drained with a claim pending", "P8", reconciling, "^TestABalancedSaleIsDrained", []edit{{auditing,
		`r.Pending == 0 && `, ``}}},
	{"a sale drained by a pass that began before its last purchases", "P8", reconciling, "^TestAPassThatBegan", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: true,`}, {auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
	{"a sale drained soon after its end", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: true,`}}},
	{"a sale drained that was prolonged", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`a.Closed = began.Sub(s.ClosesAt) >= DrainAfter`, `a.Closed = true`}}},
	{"a sale drained while a shard is open", "P8", ledgerTests, overFake + "^a_sale_is_finished", []edit{{auditing,
		`		a.Closed = a.Closed && began.Sub(one.closesAt) >= DrainAfter
`, ``}}},
	{"a sale drained whose last claim nobody has seen", "P8", ledgerTests, overFake + "^a_purchase_that_slips", []edit{{auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
	{"a sale drained without a look at its old orders", "P8", ledgerTests, overFake + "^a_pass_that_finishes", []edit{{auditing,
		`		a.OrdersFrom = time.Time{}
`, ``}}},
	{"a sale drained although it was changed meanwhile", "P8", ledgerTests, overFake + "^whatever_happens", []edit{{"shared/ledger/listing.go",
		`"#version = :version"`, `"#version >= :version"`}}},
	{"a full queue forbids to send again", "P8", reconciling, "^TestAMessageLostTwice", []edit{{resending,
		`if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {`, `if full {`}}},
	{"a full queue delays for too long", "P11", reconciling, "^TestAMessageLostTwice", []edit{{resending,
		`ledger.ResendBound / 5`, `ledger.ResendBound / 2`}}},
	{"of many lost messages always the same are sent", "P8", reconciling, "^TestOfMoreThanOnePass", []edit{{resending,
		`lastSent(a).Compare(lastSent(b))`, `lastSent(b).Compare(lastSent(a))`}}},
	{"what a pass has found is lost when it is cut off", "P8", reconciling, "^TestWhatACutOffPass", []edit{{reconcile,
		`invocation.Share(ctx, 2)`, `invocation.Share(ctx, 1)`}}},
	{"reconcile stops at the first sale that fails", "P11", reconciling, "^TestASaleThatFails", []edit{{reconcile,
		`			errs = append(errs, fmt.Errorf("sale %s: %w", listing.SaleID, saleErr))
`, `			err = saleErr
			return answer, nil
`}}},
	{"one huge sale takes the time of all", "P11", reconciling, "^TestAHugeSale", []edit{{reconcile,
		`invocation.Share(turn, len(listings)-i)`, `invocation.Share(turn, min(1, len(listings)-i))`}}},
	{"a misspelt saleId means every sale", "P19", reconciling, "^TestARequestIsReadStrictly", []edit{{reconcile,
		`name != "saleId"`, `name == ""`}}},
	{"null is read as nothing", "P19", "./shared/jsonread", "^TestAFlatObject", []edit{{"shared/jsonread/flat.go",
		`kind != '"' && kind != '0'`, `kind == '{' || kind == '['`}}},
	{"the audit is blind to a stock below zero", "P1", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditing,
		`; one.stock < 0 {`, `; false {`}}},
	{"the audit is blind to a claim in another bucket", "P3", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditingClaims,
		`if sale.BucketOf(c.User, s.Buckets) != a.Bucket {`, `if false {`}}},
	{"the audit is blind to an order id's time", "P7", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditingClaims,
		`at.Before(earliest) || at.After(now.Add(clockSkew))`, `at.IsZero()`}}},
	{"the audit is blind to stock that nobody can buy", "P6", ledgerTests, overFake + "^each_kind_of_broken", []edit{{auditing,
		`if s.Empty.Has(k) && one.stock > 0 {`, `if false {`}}},
	{"the audit takes what passes for a finding", "P2", ledgerTests, overFake + "^what_changes_while", []edit{{auditing,
		`if slices.Contains(a.Suspects, m.Key) {`, `if true {`}}},
	{"send before commit", "P4", "./functions/purchase/handler", "^TestEachRefusal|^TestTheLastUnit", []edit{{"functions/purchase/handler/handler.go",
		`	p, err = h.book.Purchase(ctx, request)
`, `	h.send(ctx, event, ledger.Purchase{Claim: sale.Claim{ID: "early", SaleID: saleID, User: request.User}, New: true})
	p, err = h.book.Purchase(ctx, request)
`}}},
	{"fail on send failure", "P4", "./functions/purchase/handler", "^TestAClaimStands", []edit{{"functions/purchase/handler/handler.go",
		`	h.send(ctx, event, p)
`, `	if p.New && h.queue.Send(ctx, orderq.Of(p.Claim)) != nil {
		return httpapi.Problem(sale.Refuse(sale.Busy, ""), saleID), nil
	}
`}}},
	{"poison alone fails an invocation", "P10", "./functions/finalize/handler", "^TestABatchOfPoisonOnly", []edit{{"functions/finalize/handler/handler.go",
		`err != nil && sale.CodeOf(err) != sale.Poison`, `err != nil`}}},
	{"units of a paused sale counted as available", "P11", ledgerTests, overFake + "^what_can_be_bought", []edit{{"shared/ledger/audit.go",
		`if s.Refusal(now) == nil {`, `if true {`}}},
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
	{"the user from a header", "P12", "./functions/purchase/handler", "^TestTheBuyerIsTheTokensSub", []edit{{"shared/httpapi/event.go",
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
		`string(name) != path[0] {`, `!strings.EqualFold(string(name), path[0]) {`}}},
	{"an empty shard closed without reading first", "P6", ledgerTests, "^TestAnEmptyShardIsReadAboutBeforeItIsClosedAgain", []edit{{purchasing,
		`if p.view.isOlder(p.now(), newsAge) && `, `if false && `}}},
	{"a separator in an id", "P13", "./shared/sale", "ID", []edit{{"shared/sale/ids.go",
		`c == '_', c == '-':`, `c == '_', c == '-', c == '#':`}}},
	{"an unknown schema version is read", "P19", "./shared/orderq", ".", []edit{{"shared/orderq/message.go",
		`case w.V != Version:`, `case w.V < Version:`}}},
	{"finalize gives up as soon as a purchase does", "P8", "./infra/model", "^TestWhatLimitsTheTable", []edit{{"shared/ledger/calls.go",
		`patientTries = 24`, `patientTries = 6`}}},
	{"a message with wrong buckets is poison", "P8", ledgerTests, "^TestTheLedgerOverTheFake$", []edit{{"shared/ledger/confirm.go",
		`if c.Err == errNoClaim && c.ref.Buckets > 0 {`, `if false {`}}},
	{"endless tries", "P16", ledgerTests, "^TestUnansweredOrContendedToTheEnd", []edit{{"shared/ledger/calls.go",
		`maxTries = 6`, `maxTries = 60`}}},
	{"whoever goes around the front comes in", "P12", "./shared/httpapi", "^TestOnlyRequestsWithTheSecret", []edit{{"shared/httpapi/origin.go",
		`digest[:], o.digest[:]) != 1 {`, `digest[:], o.digest[:]) == 2 {`}}},
	{"an open breaker lets everybody try", "P16", "./shared/eligibility", "^TestOneCallMayTry", []edit{{"shared/eligibility/breaker.go",
		`(b.probing || 0 <= passed && passed < b.spread)`, `0 <= passed && passed < b.spread`}}},
	{"a try in the tail of a sale knows only what is old", "P6", "./infra/model", "^TestTheTailCosts", []edit{{"shared/ledger/snapshot.go",
		`tailAge = 30 * time.Millisecond`, `tailAge = time.Minute`}}},
	{"the clock of the functions stops while an environment is frozen", "P6", "./shared/clock", "^TestTheWallClock", []edit{{"shared/clock/clock.go",
		`return Strip(time.Now())`, `return time.Now()`}}},
	{"what is sold out ages by a clock that stops", "P6", "./functions/purchase/handler", "^TestAnEnvironmentThatWasFrozen", []edit{{"shared/clock/clock.go",
		`return t.Round(0).UTC()`, `return t`}}},
	{"a ledger without a clock takes one that stops", "P6", ledgerTests, "^TestALedgerThatIsGivenNoClock", []edit{{"shared/ledger/ledger.go",
		`o.Now = clock.Wall`, `_, o.Now = clock.Wall, time.Now`}}},
	{"a snapshot never ages", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenRefusesNothing", []edit{{"shared/ledger/snapshot.go",
		`v.known && isFresh(now, v.readAt, v.age)`, `v.known`}}},
	{"what was read in the future is fresh", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenRefusesNothing", []edit{{"shared/ledger/snapshot.go",
		`return 0 <= passed && passed < age`, `return passed < age`}}},
	{"a remembered claim never ages", "P9", ledgerTests, "^TestAnEnvironmentThatWasFrozenReadsTheClaim", []edit{{"shared/ledger/memory.go",
		`!ok || !isFresh(now, e.since, recentFor)`, `!ok`}}},
	{"a count of the remaining units never ages", "P6", ledgerTests, "^TestAnEnvironmentThatWasFrozenCounts", []edit{{"shared/ledger/remaining.go",
		` && isFresh(now, e.readAt, remainingAge)`, ``}}},
	{"a breaker stays open until a clock that stepped back catches up", "P16", "./shared/eligibility", "^TestABreakersPauseIsOver", []edit{{"shared/eligibility/breaker.go",
		`0 <= passed && passed < b.spread`, `passed < b.spread`}}},
	{"what the SDK logs is not a line of ours", "P18", "./shared/telemetry", "^TestWhatTheSDKLogs", []edit{{"shared/telemetry/calls.go",
		`	cfg.Logger = sdkLogger{l}
`, ``}}},
	{"a user sends as much as he likes", "P16", "./functions/purchase/handler", "^TestTooManyRequestsOfAUser", []edit{{"functions/purchase/handler/handler.go",
		`if !h.callers.admit(request.User, h.now()) {`, `if !h.callers.admit(request.User, h.now()) && false {`}}},
	{"too many requests are noticed after the purchase", "P16", "./functions/purchase/handler", "^TestTooManyRequestsOfAUser", []edit{{"functions/purchase/handler/handler.go",
		`	if !h.callers.admit(request.User, h.now()) {
`, `	if _, _ = h.book.Purchase(ctx, request); !h.callers.admit(request.User, h.now()) {
`}}},
	{"a refused request costs a token", "P16", "./functions/purchase/handler", "^TestAUserSendsABurst", []edit{{"functions/purchase/handler/callers.go",
		`		return false
`, `		c.m[user] = caller{now, debt}
		return false
`}}},
	{"a user's bucket stays empty until a clock that stepped back catches up", "P16", "./functions/purchase/handler", "^TestAUsersBucketAges", []edit{{"functions/purchase/handler/callers.go",
		`ok && passed >= 0 {`, `ok {`}}},
	{"the memory of users has no bound", "P16", "./functions/purchase/handler", "^TestTheUsersWhoAreRemembered", []edit{{"functions/purchase/handler/callers.go",
		`	delete(c.m, c.order[c.next])
`, ``}}},
	{"too many requests do not say when to come back", "P5", "./shared/httpapi", "^TestEveryCodeHasItsStatus", []edit{{"shared/httpapi/problem.go",
		` || k.status == http.StatusTooManyRequests)`, `)`}}},
	{"a 4xx about one user counts against the service", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/service.go",
		`	case status >= 400:
		return false, nil
`, `	case status >= 400:
		return false, fmt.Errorf("read answer: status %d", status)
`}}},
	{"an answer that cannot be used counts against the service", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/eligibility.go",
		` && !errors.Is(err, errAnswer)`, ``}}},
	{"a throttled service is taken for one that refuses the user", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/service.go",
		`status >= 500, status == http.StatusTooManyRequests, `, `status >= 500, `}}},
	{"our own refused credentials refuse every user", "P16", "./shared/eligibility", "^TestOneStrangeUserCutsOff", []edit{{"shared/eligibility/service.go",
		`	case status == http.StatusUnauthorized, `, `	case `}}},
	{"users are asked about in the clear", "P12", "./shared/eligibility", "^TestAURLThatCannotBeMeant", []edit{{"shared/eligibility/service.go",
		` && !isLoopback(u.Hostname()):`, ` && false:`}}},
	{"an answer about a user outlives its sale", "P14", "./shared/eligibility", "^TestAnAnswerPastItsSalesEnd", []edit{{"shared/eligibility/answers.go",
		`!ok || !now.Before(known.end)`, `!ok`}}},
	{"the last message has no time of its own", "P4", "./functions/purchase/handler", "^TestAClaimMadeInTheLastMoment", []edit{{"shared/invocation/invocation.go",
		`if Outlasts(ctx, d) {`, `if true {`}}},
	{"an unexpected error after an unknown outcome is internal", "P5", ledgerTests, "^TestAnUnexpectedErrorAfterAnUnknown", []edit{{purchasing,
		`	if p.unsure {
		code = sale.Busy
	}
`, ``}}},
	{"an order id's second and its day of two instants", "P7", ledgerTests, "^TestAnOrderIDsSecondAndItsDay", []edit{{"shared/ledger/confirm.go",
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
	{"the recount believes a shard's own word for what it was given", "P15", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/books/judge.go",
		`low, high := p.before.given(k, p.n), p.after.given(k, p.n)`, `low, high := s0.seeded, s.seeded`}}},
	{"the recount judges a sale that sells as a quiet one", "P2", bookTests, "^TestASaleBalancesInTheMiddle", []edit{{"infra/books/judge.go",
		`quiet := *s0 == *s && low == high`, `quiet := true`}}},
	{"the recount does not wait for the other half of a transaction", "P2", bookTests, "^TestATransactionHalfVisible", []edit{{"infra/books/receipt.go",
		`len(first.found) == 0 && first.still()`, `true`}}},
	{"the recount does not look for orders without a claim", "P7", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/books/strays.go",
		`return p.checkOwners(ctx, orders)`, `return nil`}}},
	{"the recount counts a claim in the wrong bucket", "P3", bookTests, "^TestEachKindOfBrokenBooksIsNamed$", []edit{{"infra/books/claims.go",
		`c.Bucket != right`, `false`}}},
	{"an item read eventually", "P6", ledgerTests, overLaggingFake, []edit{{"shared/ledger/calls.go",
		`Key: key, ConsistentRead: &yes}`, `Key: key}`}}},
	{"shards counted by eventual reads", "P2", ledgerTests, overLaggingFake, []edit{{"shared/ledger/audit.go",
		`l.batchGet(ctx, maxTries, keys, true)`, `l.batchGet(ctx, maxTries, keys, false)`}}},
	{"claims counted by eventual reads", "P2", ledgerTests, overLaggingFake, []edit{{"shared/ledger/audit_claims.go",
		`		ConsistentRead:            &yes,
`, ``}}},
	{"a claim's message handled by an eventual read", "P8", ledgerTests, overLaggingFake, []edit{{"shared/ledger/batches.go",
		`l.batchGet(ctx, patientTries, asked, true)`, `l.batchGet(ctx, patientTries, asked, false)`}}},
	{"the units left read eventually", "P6", ledgerTests, overLaggingFake, []edit{{"shared/ledger/remaining.go",
		`l.batchGet(ctx, maxTries, keys, true)`, `l.batchGet(ctx, maxTries, keys, false)`}}},
	{"the list of sales read eventually", "P8", ledgerTests, overLaggingFake, []edit{{"shared/ledger/listing.go",
		`				ConsistentRead:            &yes,
`, ``}}},
	{"an addition's receipts read eventually", "P15", ledgerTests, "^TestARepeatedAddition", []edit{{"shared/ledger/add.go",
		`				ConsistentRead:           &yes,
`, ``}}},
	{"a hot partition in a cancellation is an unknown reason", "P5", ledgerTests, "^TestContentionInAnyPlaceOfACancellation", []edit{{"shared/ledger/reasons.go",
		`case reasonConflict, reasonThroughput, reasonThrottling, reasonInProgress:`, `case reasonConflict, reasonThrottling, reasonInProgress:`}}},
	{"whether an item exists is read eventually, simulated", "P15", simulation, under + "^lagging_reads$", []edit{{"shared/ledger/calls.go",
		`Key: key, ConsistentRead: &yes}`, `Key: key}`}}},
	{"an environment believes what it knew before it was frozen", "P6", simulation, under + "^freezes$", []edit{{"shared/clock/clock.go",
		`return t.Round(0).UTC()`, `return t`}}},
	{"half of a transaction is taken for broken books", "P2", simulation, under + "^half-visibility$", []edit{{auditing,
		`if slices.Contains(a.Suspects, m.Key) {`, `if true {`}, {auditing,
		`if len(keys) > 0 && a.Suspects == nil {`, `if false {`}}},
	{"contention on the claim beside a failed condition is an unknown reason", "P5", simulation, under + "^vague_reasons$", []edit{{"shared/ledger/reasons.go",
		`	case contention(claimCode):
		return verdict{again: true, keepShard: stockCode == reasonNone}, nil
	case stockCode != reasonCondition || claimCode != reasonNone:`, `	case stockCode != reasonCondition:`}}},
	{"clocks that differ by a minute are broken books", "P7", simulation, under + "^skewed_clocks$", []edit{{auditingClaims,
		`.Add(-clockSkew).Truncate(time.Second)`, `.Add(-clockSkew)`}}},
	{"an order id's second and its day of two instants, simulated", "P7", simulation, under + "^midnight$", []edit{{"shared/ledger/confirm.go",
		`orderid.New(now, `, `orderid.New(l.now(), `}}},
	{"a shard put without its condition", "P15", simulation, under + "^rough_seeding$", []edit{{creating,
		`Item: shardItem(s, k, units), ConditionExpression: &ifAbsent,`, `Item: shardItem(s, k, units),`}}},
	{"a lost message waits for as long as poison comes", "P8", simulation, under + "^poison$", []edit{{resending,
		`if full && h.now().Sub(claims[0].AcceptedAt) < maxDelay {`, `if full {`}}},
	{"whether a sale may be drained is decided when its pass is resumed", "P8", simulation, "^TestEveryPlan/^scenarios$/^a_pass_that_began", []edit{{auditing,
		`Finished: a.Closed,`, `Finished: now.Sub(s.ClosesAt) >= DrainAfter,`}, {auditing,
		`		r.Finished = r.Finished && a.Claims[k] == sold
`, ``}}},
}
