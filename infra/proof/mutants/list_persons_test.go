package mutants

const (
	holding   = "shared/ledger/person.go"
	sealing   = "shared/ledger/seal.go"
	erasing   = "shared/ledger/erase.go"
	archiving = "shared/ledger/archive.go"
)

// ofPersons break what is shown of a person, their erasure, and the archive of a sale.
var ofPersons = []mutant{
	{"a person is told of one sale alone", "P11", ledgerTests, overFake + "^what_is_held_of_a_user_has_an_order", []edit{{holding,
		`case !held[i].isEmpty():`, `case !held[i].isEmpty() && i == 0:`}}},
	{"a sale that cannot be read is left out without a word", "P19", ledgerTests, overFake + "^a_sale_that_cannot_be_read_hides", []edit{{holding,
		`asInternal(errors.Join(unreadable...))`, `asInternal(errors.Join(unreadable[:0]...))`}}},
	{"a sealed sale is edited", "P36", ledgerTests, overFake + "^a_sealed_sale", []edit{{"shared/ledger/trail.go",
		`case before.IsSealed():`, `case false:`}}},
	{"a sealed sale gets more units", "P36", ledgerTests, overFake + "^a_sealed_sale", []edit{{adding,
		`case s.IsSealed():`, `case false:`}}},
	{"an older reader sells a sealed sale", "P36", ledgerTests, overFake + "^a_sealed_sale", []edit{{sealing,
		`num(sale.ReadsSealed)`, `num(sale.ReadsDraws)`}}},
	{"a user is erased from a sale that is on", "P36", ledgerTests, overFake + "^nobody_is_erased", []edit{{sealing,
		`case !listing.Drained:`, `case !listing.Drained && listing.Recalling:`}, {sealing, `aws.String("attribute_exists(#drained)")`, `aws.String("attribute_exists(pk) OR attribute_exists(#drained)")`}}},
	{"a user is erased who is to get money back", "P36", ledgerTests, overFake + "^nobody_is_erased", []edit{{sealing,
		`if count.Due > 0 {`, `if count.Due > 1 {`}}},
	{"the other sales of a group are not looked at", "P36", ledgerTests, overFake + "^nobody_is_erased", []edit{{sealing,
		`for _, id := range ids {
		listing,`, `for _, id := range ids[:1] {
		listing,`}}},
	{"a group is sealed although a sale has joined it", "P36", ledgerTests, overFake + "^an_erasure_that_something_overtakes", []edit{{sealing,
		`aws.String("#sales = :sales")`, `aws.String("#sales = #sales OR #sales = :sales")`}}},
	{"a sale's listing keeps where a pass goes on when it is sealed", "P36", ledgerTests, overFake + "^what_passes_have_noted", []edit{{sealing,
		`" REMOVE #cursor, #releasing", map[string]string{"#drained": "drained", "#cursor": "cursor", `, `" REMOVE #releasing", map[string]string{"#drained": "drained", `}}},
	{"what an audit found stays when its sale is sealed", "P36", ledgerTests, overFake + "^what_passes_have_noted", []edit{{sealing,
		`len(one.Books.Findings) > 0`, `len(one.Books.Findings) > 1`}}},
	{"passes are noted in a sealed sale", "P36", ledgerTests, overFake + "^what_passes_have_noted", []edit{{"shared/ledger/listing.go",
		`ConditionExpression: &ifNotSealed, ReturnValues`, `ConditionExpression: aws.String("attribute_exists(pk) OR attribute_exists(#sealedAt)"), ReturnValues`}}},
	{"an erased entry need not be there", "P36", ledgerTests, overFake + "^an_erasure_whose_answer_is_lost", []edit{{erasing,
		`Key: key, ConditionExpression: aws.String("attribute_exists(pk)")}}`, `Key: key}}`}}},
	{"a user is erased from a sale that is being archived", "P36", ledgerTests, overFake + "^an_erasure_that_an_archive_overtakes", []edit{{erasing,
		`condition: "attribute_not_exists(#archive)"`, `condition: "attribute_not_exists(#archive) OR attribute_exists(#archive)"`}}},
	{"an erased user's event that was published again is another user's", "P36", operatorTests, "^TestTheEventsOfAnErasedUser", []edit{{"infra/kit/restore/restore.go",
		`c.User == user || sale.IsErased(user):`, `c.User == user:`}}},
	{"an erased buyer's key stays", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{erasing,
		`delete(moved, "requestKey")`, `delete(moved, "noKey")`}}},
	{"an erasure counts twice", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{erasing,
		`item{":one": num(1)}`, `item{":one": num(2)}`}}},
	{"an erased user's claim lies where nobody looks", "P36", bookTests, "^TestASaleFromWhich", []edit{{erasing,
		`sale.BucketOf(erased, h.Sale.Buckets)`, `sale.BucketOf(user, h.Sale.Buckets)`}}},
	{"an erasure is published", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{"shared/ledger/events.go",
		`before == nil && has(item(after), "orderId")`, `before == nil && has(item(after), "orderID")`}}},
	{"the recount takes anybody for erased", "P36", bookTests, "^TestEachKindOfBrokenErasure", []edit{{"infra/kit/books/seal.go",
		`p.erased > p.before.sale.erased`, `false`}}},
	{"any event is taken for an erased user's", "P36", bookTests, "^TestASaleFromWhich", []edit{{"infra/kit/books/events.go",
		`	e.members["user"] = l.members["user"]
	return e.sum(c.file.seed) == l.sum`, `	return l.members["user"] != ""`}}},
	{"a sale is archived while it is young", "P36", ledgerTests, overFake + "^no_sale_is_archived", []edit{{archiving,
		`l.now().Before(from)`, `l.now().After(from)`}}},
	{"an archive that is cut off is taken", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_is_cut", []edit{{archiving,
		`			return summed{}, sale.Refuse(sale.Poison, "the archive is cut off")
`, `			return a.sum(), nil
`}}},
	{"an archive that was changed is taken", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_is_cut", []edit{{archiving,
		`err != nil || end.Archive != a.sum().Archived`, `err != nil`}}},
	{"the table is not compared with the archive", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_the_table", []edit{{archiving,
		`case now.Archived != sum.Archived:`, `case false:`}, {archiving, `case now != sum:`, `case now.keys != sum.keys:`}}},
	{"the users of an archive are not compared with the table's", "P36", ledgerTests, overFake + "^an_archive_from_which", []edit{{archiving,
		`case now != sum:`, `case false:`}}},
	{"an archive with other users finishes another", "P36", ledgerTests, overFake + "^an_archive_from_which", []edit{{archiving,
		`case s.ArchivedKeys != sum.keys:`, `case false:`}}},
	{"any archive finishes another", "P36", ledgerTests, overFake + "^an_archive_that_was_cut_off", []edit{{archiving,
		`case s.Archive != sum.Digest:`, `case false:`}}},
	{"the digest has the users", "P36", ledgerTests, overFake + "^an_archive_from_which", []edit{{archiving,
		`	delete(bare, "user")
`, ``}}},
	{"the digest has neither sale nor group of what depends on the user", "P36", ledgerTests, overFake + "^the_entries_of_a_draw_are_archived|^an_archive_that_names", []edit{{archiving,
		`		bare[attrPK] = map[string]any{"S": pk[:max(0, strings.LastIndexByte(pk, '#'))]}
`, `		delete(bare, attrPK)
`}}},
	{"the refunds of an archived sale name users", "P36", ledgerTests, overFake + "^an_archived_sale", []edit{{archiving,
		`		if !has(it, "user") {`, `		if has(it, "user") {`}}},
	{"the audit looks for the claims of an archived sale", "P36", ledgerTests, overFake + "^an_archived_sale", []edit{{auditing,
		`	if s.Archive != "" {
		return nil, s.RefuseArchived()
	}
`, ``}}},
	{"the recount believes an archive's count", "P36", bookTests, "^TestAnArchivedSale", []edit{{"infra/kit/books/seal.go",
		`sold != h.sale.archivedClaims`, `false`}}},
	{"the recount overlooks claims that an archive left", "P36", bookTests, "^TestAnArchivedSale", []edit{{"infra/kit/books/seal.go",
		`	case left > 0:`, `	case left > 1:`}}},
}
