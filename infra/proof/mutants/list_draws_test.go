package mutants

const (
	calling   = "shared/ledger/calling.go"
	turning   = "shared/ledger/turn.go"
	theDraw   = "shared/ledger/draw.go"
	entering  = "shared/ledger/entering.go"
	theRoll   = "shared/ledger/roll.go"
	drawRules = "shared/sale/draw.go"

	recountingDraws = "infra/kit/books/draws.go"
)

// ofDraws break the draw of a sale in the ledger: the entries, the roll, the calls and the turn.
var ofDraws = []mutant{
	{"an answer may promise a place on a roll that was read before", "P27", ledgerTests, overFake + "^an_answer_that_comes_when", []edit{{entering,
		`return entry, l.settled(s, settle)
}

// maxSettle`, `return entry, nil
}

// maxSettle`}}},
	{"whoever asks is shown an entry that may not be on the roll", "P27", ledgerTests, overFake + "^an_answer_that_comes_when", []edit{{entering,
		`if l.settled(s, settle) == nil {`, `if true {`}}},
	{"an entry waits for the whole time to settle", "P27", ledgerTests, overFake + "^an_answer_that_comes_when", []edit{{entering,
		`min(settle, maxSettle) / 2`, `min(settle, maxSettle)`}}},
	{"an entry counts on a longer time to settle than any release has", "P27", ledgerTests, overFake + "^an_answer_that_comes_when", []edit{{entering,
		`min(settle, maxSettle) / 2`, `settle / 2`}}},
	{"a user enters while being checked, after the end", "P27", ledgerTests, overFake + "^who_may_not_enter", []edit{{entering,
		`refusal := s.EnteringRefusal(now); refusal != nil {`, `refusal := s.EnteringRefusal(now); refusal != nil && check == nil {`}}},
	{"an entry that is not on the roll is shown", "P27", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{entering,
		`case !isOn:`, `case !isOn && false:`}}},
	{"who has entered is told that entering is over", "P27", ledgerTests, overFake + "^who_has_entered", []edit{{entering,
		`if sale.CodeOf(err) == sale.EntryNotFound {`, `if true {`}}},
	{"a roll of what this run has read", "P27", ledgerTests, overFake + "^a_roll_that_was_cut_off", []edit{{theRoll,
		`		// Another run may have put any of them, so only what is stored counts.
		if parts, err = l.pageParts(ctx, patientTries, saleID, page, true); err != nil {
			return draw.Digest{}, 0, err
		}
`, `		for p := range pageParts {
			parts[p] = entered[p]
		}
`}}},
	{"a leaf is in another part of its page", "P27", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{theRoll,
		`return int(l[1] >> 6)`, `return int(l[1]>>6) & 2`}}},
	{"the roll is closed while people enter", "P27", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{theRoll,
		`if l.now().Before(s.EnterUntil) {`, `if false {`}}},
	{"a roll with the round of now", "P28", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{theRoll,
		`roundAt(head.ClosedAt.Add(dice))`, `roundAt(head.ClosedAt)`}}},
	{"another round is told than the one that is stored", "P28", ledgerTests, overFake + "^a_roll_that_was_cut_off", []edit{{theRoll,
		`	return stored, err
}

// closePage`, `	return head, err
}

// closePage`}}},
	{"another seed is taken for the one that is stored", "P28", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{theDraw,
		`	case h.Seed != seed:
		return asInternal(fmt.Errorf("the draw has the seed %s", h.Seed))
`, ``}}},
	{"pages that are not those of the roll", "P28", ledgerTests, overFake + "^the_roll_has_everybody", []edit{{theRoll,
		`if stored := draw.RollDigest(&digests); stored != roll {`, `if stored := draw.RollDigest(&digests); stored == (draw.Digest{}) {`}}},
	{"a try goes by the window that was read last", "P29", ledgerTests, overFake + "^an_admission_to_one_call", []edit{{purchasing,
		`&takeTurnCondition, millis(p.opens)`, `&takeTurnCondition, millis(s.sale.OpensAt)`}}},
	{"a call that is not complete is for everybody", "P29", ledgerTests, overFake + "^the_turn_when_the_first_call_is_not_complete", []edit{{turning,
		`case !call.Complete:`, `case false:`}}},
	{"the last one who is called is refused", "P29", ledgerTests, overFake + "^the_turn_in_the_first_call", []edit{{turning,
		`rank.Compare(call.Hi) > 0`, `rank.Compare(call.Hi) >= 0`}}},
	{"the last one of the call before is called again", "P29", ledgerTests, overFake + "^the_turn_in_the_second_call", []edit{{turning,
		`rank.Compare(call.Lo) <= 0`, `rank.Compare(call.Lo) < 0`}}},
	{"who has not entered is called", "P29", ledgerTests, overFake + "^the_turn_in_the_second_call", []edit{{turning,
		`case !isOn:`, `case !isOn && false:`}}},
	{"a call sells before anybody is called", "P29", ledgerTests, overFake + "^the_turn_when_the_first_call_is_due", []edit{{drawRules,
		`	case s.Call == 0 && until <= 0: // the draw function looks once a minute
		return &Error{Code: NotOpen, Detail: "nobody has been called yet", RetryAfter: time.Minute}
`, ``}}},
	{"an older reader sells in a call", "P29", ledgerTests, overFake + "^a_sale_with_a_draw_is_created", []edit{{"shared/ledger/create.go",
		`draft.MinReader = sale.ReadsDraws`, `draft.MinReader = sale.ReadsGroups`}}},
	{"a recall lets an older reader in", "P29", ledgerTests, overFake + "^a_sale_with_a_draw_is_created", []edit{{recalls,
		`max(after.MinReader, sale.ReadsRecalls)`, `sale.ReadsRecalls`}}},
	{"a claim of no call is not found", "P29", ledgerTests, overFake + "^a_claim_that_was_accepted_in_no_call", []edit{{"shared/ledger/audit.go",
		`if !slices.ContainsFunc(a.calls, isIn) {`, `if !slices.ContainsFunc(a.calls, isIn) && false {`}}},
	{"a winner hears that the turn is over", "P5", ledgerTests, "^TestWhatADrawCosts", []edit{{purchasing,
		`sale.NotYourTurn, sale.TurnOver}`, `sale.NotYourTurn}`}}},
	{"everybody who is not called causes a read", "P16", ledgerTests, "^TestWhatADrawCosts", []edit{{turning,
		`refusal != nil && refusal.Code != sale.NotYourTurn, err`, `refusal != nil, err`}}},
	{"a snapshot that may be old refuses a turn", "P5", ledgerTests, "^TestWhatADrawCosts", []edit{{turning,
		`refusal == nil || err != nil || s.mayAnswer(refusal, p.ledger.now())`, `true`}}},
	{"the operator's check is asked about people who are not called", "P16", ledgerTests, overFake + "^nobody_is_checked", []edit{{purchasing,
		`case refusal != nil && !mayHold:
				return PurchaseResult{}, refusal
`, `case refusal != nil && !mayHold && checked:
				return PurchaseResult{}, refusal
			case refusal != nil && !mayHold:
`}}},
	{"the stock is read before the shards are in the call", "P30", ledgerTests, overFake + "^no_try_of_an_earlier_call", []edit{{calling,
		`	if err := l.editShards(ctx, s, nil); err != nil {
		return call, err
	}
	shards, err := l.shardsOf(ctx, s)
	if err != nil {
		return call, err
	}
`, `	shards, err := l.shardsOf(ctx, s)
	if err != nil {
		return call, err
	}
	if err := l.editShards(ctx, s, nil); err != nil {
		return call, err
	}
`}}},
	{"a call that was cut off reads the stock at once", "P30", ledgerTests, overFake + "^no_try_of_an_earlier_call", []edit{{calling,
		`l.editShards(ctx, s, nil)`, `l.editShards(ctx, s, func(k int) bool { return k == 0 })`}}},
	{"whom a call is for changes", "P30", ledgerTests, overFake + "^whom_a_call_is_for", []edit{{calling,
		`	if judge(err) == conditioned { // by another run, or an earlier try
		return l.readCallOf(ctx, patientTries, s)
	}
`, `	if judge(err) == conditioned {
		err = nil
	}
`}}},
	{"units that were put back are forgotten", "P31", ledgerTests, overFake + "^a_unit_that_comes_back", []edit{{calling,
		`call.Stock += one.stock`, `call.Stock += one.stock - one.putBack`}}},
	{"a call before the next one may still get its people", "P30", ledgerTests, overFake + "^a_call_for_no_unit", []edit{{calling,
		`if d.Last.Number > 0 && !d.Last.Complete {
				actions`, `if false {
				actions`}}},
	{"a step of a withdrawal after the first call", "P30", ledgerTests, overFake + "^units_are_withdrawn_before", []edit{{"shared/ledger/withdraw.go",
		`	if p.sale.HasDraw() {
		update.ConditionExpression`, `	if p.sale.Call > 0 {
		update.ConditionExpression`}}},
	{"a withdrawal that the first call overtook ends", "P9", ledgerTests, overFake + "^a_withdrawal_that_the_first_call", []edit{{"shared/ledger/withdraw.go",
		`	if p.sale.HasDraw() {
		actions`, `	if p.sale.HasDraw() && false {
		actions`}}},
	{"a withdrawal after the first call is announced", "P30", ledgerTests, overFake + "^units_are_withdrawn_before", []edit{{adding,
		`if s.HasDraw() && c.Action == sale.ActionWithdraw {`, `if false {`}}},
	{"a step that a call refuses is an unknown error", "P30", ledgerTests, overFake + "^units_are_withdrawn_before", []edit{{"shared/ledger/withdraw.go",
		`if p.sale.HasDraw() && failed(refused[2]) {`, `if false {`}}},
	{"people are called into a call that has begun long ago", "P30", ledgerTests, overFake + "^a_call_that_is_finished_too_late", []edit{{calling,
		`if !call.Open && !call.IsByRank(l.now(), gap) {`, `if false {`}}},
	{"a call that is finished too late leaves the shards in the window before", "P14", ledgerTests, overFake + "^a_call_that_is_finished_too_late", []edit{{calling,
		`call.Number == 0 || call.Complete {`, `call.Number == 0 || call.Complete || l.now().After(call.From.Add(gap)) {`}}},
	{"a recalled sale calls people", "P35", ledgerTests, overFake + "^a_call_that_a_recall_overtakes", []edit{{calling,
		`if err != nil || s.IsRecalled() {
		return Call{}, err`, `if err != nil {
		return Call{}, err`}}},
	{"in a draw a user may order although they have in the group", "P34", ledgerTests, overFake + "^whoever_is_called_and_has_ordered", []edit{{"shared/ledger/purchase.go",
		`actions = append(actions, p.ledger.put(groupGuardItem(s.sale.LimitGroup, claim)))`, `guard := p.ledger.put(groupGuardItem(s.sale.LimitGroup, claim))
		if s.sale.HasDraw() {
			guard.Put.ConditionExpression = nil
		}
		actions = append(actions, guard)`}}},
	{"a call by rank is completed without the roll", "P31", ledgerTests, overFake + "^a_call_by_rank", []edit{{calling,
		`if call.IsByRank(l.now(), gap) && len(ranks) == 0 {`, `if false {`}}},
	{"a call for nobody lasts as long as others", "P31", ledgerTests, overFake + "^a_call_for_no_unit", []edit{{theDraw,
		`case s.Last.CallsNobody():`, `case false:`}}},
	{"half of a call that was restored keeps it from beginning", "P31", ledgerTests, overFake + "^after_a_restore_a_call_of_which_only", []edit{{calling,
		`record.Put.ConditionExpression, record.Put.ExpressionAttributeNames = &ifIncomplete, map[string]string{"#hi": "hi"}`, `record.Put.ReturnValuesOnConditionCheckFailure = ""`}}},
	{"the gap is left out", "P31", ledgerTests, overFake + "^a_call_in_the_gap", []edit{{theDraw,
		`return s.Sale.ClosesAt.Add(gap)`, `return s.Sale.ClosesAt`}}},
	{"a call without a window", "P31", ledgerTests, overFake + "^a_call_without_a_window", []edit{{calling,
		`!from.Before(before.EndsAt) || `, `!now.Before(before.EndsAt) || `}}},
	{"a call begins in a pause", "P14", ledgerTests, overFake + "^a_call_paused", []edit{{calling,
		`before.Paused || before.IsRecalled()`, `before.IsRecalled()`}}},
	{"a call of a recalled sale", "P35", ledgerTests, overFake + "^a_call_recalled", []edit{{calling,
		`before.Paused || before.IsRecalled()`, `before.Paused && !before.IsRecalled()`}}},
	{"a call is not judged again", "P31", ledgerTests, overFake + "^a_call_that_is_overtaken_by_a_later_end", []edit{{calling,
		`now.Before(due.NextCallAt(gap))`, `due.Sale.ID == "" || now.Before(d.NextCallAt(gap))`}}},
	{"a call that another run has begun is begun again", "P31", ledgerTests, overFake + "^a_call_that_is_begun_twice", []edit{{calling,
		`before.Call != d.Last.Number || `, ``}, {calling, ` || !from.After(before.OpensAt) {`, ` {`}, {calling, `now.Before(due.NextCallAt(gap)) ||`, `due.Sale.ID == "" ||`}}},
	{"units that nobody is left for are kept", "P31", ledgerTests, overFake + "^after_everybody_has_been_called", []edit{{calling,
		`return r.Compare(next.Lo) > 0 })`, `return r.Compare(next.Lo) >= 0 })`}}},
	{"an open call that was cut off is too late", "P31", ledgerTests, overFake + "^an_open_call_that_was_cut_off", []edit{{calling,
		`!call.Open && !call.IsByRank`, `!call.IsByRank`}}},
	{"the draw function trusts the set of empty shards", "P31", ledgerTests, overFake + "^a_call_is_for_as_many", []edit{{theDraw,
		`d.HasStock = slices.ContainsFunc(shards, func(s shard) bool { return s.stock > 0 })`, `d.HasStock = d.Sale.SoldOut() && len(shards) > 0`}}},
	{"an edit loses to a call", "P14", ledgerTests, overFake + "^calls_change_nothing", []edit{{editing,
		`newest := before.OperatedAt.UnixMilli()`, `newest := before.ChangedAt.UnixMilli()`}}},
	{"an edit's instant is when it was applied", "P14", ledgerTests, overFake + "^calls_change_nothing", []edit{{editing,
		`after.OperatedAt = time.UnixMilli(operated)`, `after.OperatedAt = after.ChangedAt`}}},
	{"an edit is older than the call before it", "P14", ledgerTests, overFake + "^calls_change_nothing", []edit{{editing,
		`time.UnixMilli(max(operated, before.ChangedAt.UnixMilli()+1))`, `time.UnixMilli(operated)`}}},
	{"a repeated edit is another one", "P32", ledgerTests, overFake + "^calls_change_nothing", []edit{{"shared/sale/change.go",
		`if !made.OperatedAt.IsZero() {`, `if false {`}}},
	{"another end of a call has the id of the first", "P32", ledgerTests, overFake + "^a_call_may_end_later", []edit{{"shared/sale/change.go",
		`c.Until.UnixMilli() == made.ClosesAt.UnixMilli()`, `true`}}},
	{"a call does not say until when it lasts now", "P29", ledgerTests, overFake + "^a_call_may_end_later", []edit{{editing,
		`if after.Call > 0 {`, `if false {`}}},
	{"a sale that is listed until the end of a call", "P8", ledgerTests, overFake + "^a_call_may_end_later", []edit{{editing,
		`millis(after.Ends())`, `millis(after.ClosesAt)`}}},
	{"a call ends earlier", "P30", ledgerTests, overFake + "^a_call_may_end_later", []edit{{drawRules,
		`case after.ClosesAt.UnixMilli() < s.ClosesAt.UnixMilli():`, `case false:`}}},
	{"a call ends after the sale", "P30", ledgerTests, overFake + "^a_call_may_end_later", []edit{{drawRules,
		`case after.ClosesAt.UnixMilli() > after.EndsAt.UnixMilli():`, `case false:`}}},
	{"a call for anybody ends before the sale", "P31", "./shared/sale", "^TestAReschedulingMakesNothing", []edit{{drawRules,
		`case s.OpenCall && after.ClosesAt.UnixMilli() < after.EndsAt.UnixMilli():`, `case false:`}}},
	{"a sale with a draw ends earlier", "P30", ledgerTests, overFake + "^a_call_may_end_later", []edit{{drawRules,
		`case e.ClosesAt.UnixMilli() < s.EndsAt.UnixMilli():`, `case false:`}}},
	{"the beginning moves after the first call", "P30", ledgerTests, overFake + "^a_call_may_end_later", []edit{{drawRules,
		`case s.Call > 0 && e.OpensAt.UnixMilli() != s.BeginsAt.UnixMilli():`, `case false:`}}},
	{"a sale with a draw begins earlier", "P28", ledgerTests, overFake + "^the_draw_of_a_sale_becomes", []edit{{drawRules,
		`case e.OpensAt.UnixMilli() < s.BeginsAt.UnixMilli():`, `case false:`}}},
	{"a sale is moved before its dice", "P28", ledgerTests, overFake + "^the_draw_of_a_sale_becomes", []edit{{drawRules,
		`case s.Call == 0 && e.OpensAt.Before(s.EnterUntil.Add(e.DrawLead)):`, `case false:`}}},
	{"no call gets another end", "P30", ledgerTests, overFake + "^the_draw_of_a_sale_becomes", []edit{{drawRules,
		`case s.Call == 0 && !e.Until.IsZero():`, `case false:`}}},
	{"an open call ends before the sale", "P31", ledgerTests, overFake + "^a_later_end_of_the_sale", []edit{{drawRules,
		`	case s.OpenCall:
		s.ClosesAt = s.EndsAt
`, ``}}},
	{"a call that the end of the sale cut short stays short", "P30", ledgerTests, overFake + "^a_later_end_of_the_sale", []edit{{drawRules,
		`case !s.ClosesAt.Before(before):`, `case s.ClosesAt.After(before):`}}},
	{"a sale is drained between two calls", "P8", ledgerTests, overFake + "^a_claim_that_was_accepted_in_no_call", []edit{{"shared/ledger/audit.go",
		`a.Closed = began.Sub(s.Ends()) >= DrainAfter`, `a.Closed = began.Sub(s.ClosesAt) >= DrainAfter`}}},
	{"units that are kept for people count as unsold", "P11", ledgerTests, overFake + "^a_claim_that_was_accepted_in_no_call", []edit{{"shared/ledger/audit.go",
		`if s.Refusal(now) == nil && (!s.HasDraw() || s.OpenCall) {`, `if s.Refusal(now) == nil {`}}},
	{"the terms of a draw are not compared", "P9", ledgerTests, overFake + "^a_sale_with_a_draw_is_created", []edit{{"shared/ledger/create.go",
		` &&
		r.drawTerms() == utc(c.DrawTerms)`, ``}}},
	{"entering begins a moment later", "P27", ledgerTests, overFake + "^people_enter_from", []edit{{drawRules,
		`case now.Before(s.EnterFrom):`, `case !now.After(s.EnterFrom):`}}},
	{"entering lasts a moment longer", "P27", ledgerTests, overFake + "^people_enter_from", []edit{{drawRules,
		`case !now.Before(s.EnterUntil):`, `case now.After(s.EnterUntil):`}}},
	{"a recalled sale is entered", "P35", ledgerTests, overFake + "^nobody_enters", []edit{{drawRules,
		`	case s.IsRecalled():
		return RefuseRecalled()
	case now.Before(s.EnterFrom):`, `	case now.Before(s.EnterFrom):`}}},
	{"a sale is created that opens before its dice", "P28", "./shared/change", "^TestASaleMustNotOpen", []edit{{"shared/change/change.go",
		`, c.CheckDraw(d.DrawLead), `, `, `}}},
	{"a sale is moved to before its dice", "P28", "./shared/change", "^TestAReschedulingOfADraw", []edit{{"shared/change/change.go",
		`	e.DrawLead = d.DrawLead
`, ``}}},
	{"a draw without one of its terms", "P27", "./shared/change", "^TestTheTermsOfADraw", []edit{{"shared/change/request.go",
		`case [...]bool{false, false, false}:`, `case [...]bool{false, false, false}, [...]bool{true, false, false}:`}}},
	{"a draw with more shards than a call can edit", "P31", "./shared/sale", "^TestACreationWithADraw", []edit{{drawRules,
		`case c.Shards > MaxDrawShards || c.OrdersPerSecond`, `case c.OrdersPerSecond`}}},
	{"a sale opens while people enter", "P27", "./shared/sale", "^TestACreationWithADraw", []edit{{drawRules,
		`return c.CheckDraw(0)
}`, `return nil
}`}}},
	{"units are kept for half an hour", "P30", "./shared/sale", "^TestACreationWithADraw", []edit{{drawRules,
		`c.KeepFor%time.Hour != 0`, `false`}}},
	{"people wait for a call of a sale without units", "P6", "./shared/sale", "^TestASaleWithADrawShows", []edit{{"shared/sale/sale.go",
		`(refusal == nil || refusal.Code == NotYourTurn) && s.SoldOut()`, `refusal == nil && s.SoldOut()`}}},
	{"the recount does not ask whose turn it was", "P29", bookTests, "^TestADrawThatWasTamperedWith", []edit{{recountingDraws,
		`why := p.outOfTurn(p.draw.after, c); why != ""`, `why := p.outOfTurn(p.draw.after, c); why == "-"`}}},
	{"the recount does not count the units that are kept", "P30", bookTests, "^TestADrawThatWasTamperedWith", []edit{{recountingDraws,
		`units < waiting`, `units < 0`}}},
	{"the recount takes anybody's leaf on a roll", "P27", bookTests, "^TestADrawThatWasTamperedWith", []edit{{recountingDraws,
		`if entered[l] {`, `if entered[l] || page >= 0 {`}}},
	{"the recount takes any seed", "P28", bookTests, "^TestADrawThatWasTamperedWith", []edit{{recountingDraws,
		`d.head.seed != want {`, `len(d.head.seed) != len(want) {`}}},
	{"a call may be as late as it likes", "P31", bookTests, "^TestACallThatIsNotMadeInTime", []edit{{recountingDraws,
		`units > 0 && now > since+late`, `units > 0 && now > since+100*late`}}},
	{"the enumeration's late purchase takes a kept unit", "P30", enumeration, "^TestEveryPlanOfFewFaultsKeepsThePromises$/scenarios/the_second_call", []edit{{calling,
		`	if err := l.editShards(ctx, s, nil); err != nil {
		return call, err
	}
	shards, err := l.shardsOf(ctx, s)
	if err != nil {
		return call, err
	}
`, `	shards, err := l.shardsOf(ctx, s)
	if err != nil {
		return call, err
	}
	if err := l.editShards(ctx, s, nil); err != nil {
		return call, err
	}
`}}},
	{"an earlier call's purchase is applied in the next one", "P29", enumeration, "^TestEveryPlanOfFewFaultsKeepsThePromises$/scenarios/the_second_call", []edit{{purchasing,
		`&takeTurnCondition, millis(p.opens)`, `&takeUnitCondition, millis(p.opens)`}}},
}
