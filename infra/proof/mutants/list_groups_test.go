package mutants

const (
	groups           = "shared/ledger/group.go"
	readingReasons   = "shared/ledger/reasons.go"
	recountingGroups = "infra/kit/books/groups.go"
	oneInAGroup      = overFake + "^a_user_orders_once"
	cancellations    = "^TestEveryCancellation"
	clicksInTwo      = "^TestEveryPlan/^scenarios$/^one_buyer_clicks"
)

// ofGroups break the limit of one order in all sales of a group.
var ofGroups = []mutant{
	{"no guard is put", "P34", ledgerTests, oneInAGroup, []edit{{purchasing,
		`	if s.sale.LimitGroup != "" {
		actions`, `	if s.sale.Shards < 0 {
		actions`}, {readingReasons, `	actions := purchaseActions
	if of.LimitGroup != "" {`, `	actions := purchaseActions
	if of.Shards < 0 {`}, {readingReasons, `guardCode := aws.ToString(stock.Code), aws.ToString(claim.Code), reasonNone
	if of.LimitGroup != "" {`, `guardCode := aws.ToString(stock.Code), aws.ToString(claim.Code), reasonNone
	if of.Shards < 0 {`}}},
	{"a guard replaces another", "P34", ledgerTests, oneInAGroup, []edit{{purchasing,
		`p.ledger.put(groupGuardItem(s.sale.LimitGroup, claim))`,
		`types.TransactWriteItem{Put: &types.Put{TableName: p.ledger.table, Item: groupGuardItem(s.sale.LimitGroup, claim)}}`}}},
	{"each sale has guards of its own", "P34", ledgerTests, oneInAGroup, []edit{{ledgerItems,
		`groupGuardKey(group, c.User)`, `groupGuardKey(c.SaleID, c.User)`}}},
	{"each sale has guards of its own, enumerated", "P34", enumeration, clicksInTwo, []edit{{ledgerItems,
		`groupGuardKey(group, c.User)`, `groupGuardKey(c.SaleID, c.User)`}}},
	{"a guard lies in the bucket of its claim", "P34", ledgerTests, oneInAGroup, []edit{{ledgerItems,
		`with(groupGuardKey(group, c.User), item{`, `with(key("GUARD#"+group+"#"+strconv.Itoa(sale.BucketOf(c.User, c.Buckets)), c.User), item{`}}},
	{"groups share their guards", "P34", ledgerTests, overFake + "^groups_do_not_limit", []edit{{"shared/ledger/keys.go",
		`"GUARD#"+group+"#"`, `"GUARD##"`}}},
	{"an empty shard hides a guard", "P34", ledgerTests, cancellations, []edit{{readingReasons,
		`case guardCode == reasonCondition:`, `case guardCode == reasonCondition && stockCode != reasonCondition:`}}},
	{"contention on a guard is an unknown reason", "P5", ledgerTests, cancellations, []edit{{readingReasons,
		`contention(claimCode) || contention(guardCode)`, `contention(claimCode)`}}},
	{"a guard beats a claim", "P9", ledgerTests, cancellations, []edit{{readingReasons,
		`case claimCode == reasonCondition:`, `case claimCode == reasonCondition && guardCode != reasonCondition:`}, {purchasing,
		`held, readErr := p.ledger.claim(ctx, s.sale, p.request.User)`, `held, readErr := sale.Claim{ID: p.claimID}, error(nil)`}}},
	{"a guard of this sale is taken for another's", "P5", ledgerTests, cancellations, []edit{{purchasing,
		`if g.saleID != p.request.SaleID {`, `if true {`}}},
	{"a guard whose claim is not shown yet is an answer", "P5", ledgerTests, "^TestAGuardWhoseClaim", []edit{{purchasing,
		`	case sale.CodeOf(readErr) == sale.OrderNotFound:
		return waitAndStay`, `	case false:
		return waitAndStay`}}},
	{"an order in another sale is uncertain after a try without an answer", "P34", ledgerTests, "^TestAnOrderInAnotherSaleIsFinal", []edit{{purchasing,
		`	case v.guard != nil:`, `	case v.guard != nil && p.unsure:
		return finishWith(p.fail(sale.Busy, err))
	case v.guard != nil:`}}},
	{"an order in another sale is not remembered", "P16", ledgerTests, "^TestAnOrderInAnotherSaleIsRemembered", []edit{{purchasing,
		`		p.ledger.rememberOther(p.request.SaleID, p.request.User, g.saleID, p.ledger.now())
`, ``}}},
	{"an order in another sale is remembered for ever", "P16", ledgerTests, "^TestAnOrderInAnotherSaleIsRemembered", []edit{{"shared/ledger/claims.go",
		`remembered{otherSale: other}, now, now.Add(recentFor)`, `remembered{otherSale: other}, now, now.Add(1000*time.Hour)`}}},
	{"a group may have any number of sales", "P15", ledgerTests, overFake + "^a_group_has_30", []edit{{groups,
		`size(#sales) < :most`, `size(#sales) >= :zero`}, {groups, `":most": num(sale.MaxGroup),`, `":zero": zero,`}}},
	{"a full group is a sale that is stored in part", "P15", ledgerTests, overFake + "^a_group_has_30", []edit{{creating,
		`!failed(reasons[0]) && failed(reasons[3])`, `failed(reasons[0]) && !failed(reasons[0])`}}},
	{"the last creation of a full group cannot be repeated", "P9", ledgerTests, overFake + "^a_group_has_30", []edit{{creating,
		`!failed(reasons[0]) && failed(reasons[3])`, `failed(reasons[3])`}}},
	{"a creation may be repeated in another group", "P9", ledgerTests, overFake + "^a_repeated_creation_in_another", []edit{{creating,
		`r.optionalText("limitGroup") == c.LimitGroup && `, ``}}},
	{"an older release sells a sale of a group", "P34", ledgerTests, overFake + "^what_a_group_adds", []edit{{creating,
		`draft.MinReader = sale.ReadsGroups`, `draft.MinReader = sale.ReadsPayment`}}},
	{"a guard is for any reader", "P19", ledgerTests, overFake + "^what_a_group_adds", []edit{{ledgerItems,
		`return forReader(c.MinReader, with(groupGuardKey(`, `return forReader(0, with(groupGuardKey(`}}},
	{"an empty limitGroup is none", "P15", "./functions/seed/handler", "^TestACreationTakes", []edit{{"shared/change/request.go",
		`c.LimitGroup = *r.LimitGroup; c.LimitGroup == ""`, `c.LimitGroup = *r.LimitGroup; false`}}},
	{"a group's id may be anything", "P13", "./functions/seed/handler", "^TestACreationTakes", []edit{{seedingRules,
		`c.LimitGroup != "" && !ValidID(c.LimitGroup)`, `false`}}},
	{"a group of which one sale is a draft is not found", "P11", ledgerTests, overFake + "^a_group_shows", []edit{{groups,
		`if sale.CodeOf(errs[i]) == sale.SaleNotFound {`, `if false {`}}},
	{"a group is remembered for ever", "P6", ledgerTests, "^TestAGroupIsRead", []edit{{groups,
		`now.Add(groupAge)`, `now.Add(1000*time.Hour)`}}},
	{"a group is read each time", "P16", ledgerTests, "^TestAGroupIsRead", []edit{{groups,
		`if ids, ok := l.groups.Get(group, now); ok {`, `if ids, ok := l.groups.Get(group, now); ok && false {`}}},
	{"an order in another sale has no path", "P34", "./shared/httpapi", "^TestARefusalSays", []edit{{"shared/httpapi/problem.go",
		`		saleID = p.otherSale`, `		saleID = ""`}}},
	{"a recount takes a claim without its guard", "P34", bookTests, "^TestEveryItemThatIsRemoved", []edit{{recountingGroups,
		`		if it == nil {
			p.find(`, `		if it == nil {
			continue
		}
		if it == nil {
			p.find(`}}},
	{"a recount takes a guard without a claim", "P34", bookTests, "^TestWhatNoOrderOfAGroup", []edit{{recountingGroups,
		`g.group != p.lasting().group || c.ClaimID != g.claimID`, `false && (g.group != p.lasting().group || c.ClaimID != g.claimID)`}}},
	{"a recount takes a group that names a sale of another", "P34", bookTests, "^TestWhatNoOrderOfAGroup", []edit{{recountingGroups,
		`slices.Contains(sales, s.saleID) && group != s.lasting().group`, `slices.Contains(sales, s.saleID) && false`}}},
	{"each sale has guards of its own, simulated", "P34", simulation, under + "^groups$", []edit{{ledgerItems,
		`groupGuardKey(group, c.User)`, `groupGuardKey(c.SaleID, c.User)`}}},
	{"a guard of this sale is taken for another's, simulated", "P5", simulation, under + "^rough_groups$", []edit{{purchasing,
		`if g.saleID != p.request.SaleID {`, `if true {`}}},
	{"a recount takes a guard of another claim", "P34", bookTests, "^TestEveryChange", []edit{{recountingGroups,
		`if problem == "" && g != (barredUser{`, `if false && g != (barredUser{`}}},
	{"a recount takes a group without the sale", "P34", bookTests, "^TestEveryItemThatIsRemoved", []edit{{recountingGroups,
		`if !slices.Contains(sales, p.saleID) {`, `if !slices.Contains(sales, p.saleID) && false {`}}},
}
