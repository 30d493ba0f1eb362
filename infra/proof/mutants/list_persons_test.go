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
		`case !listing.Drained:`, `case !listing.Drained && listing.Recalling:`}}},
	{"a user is erased who is to get money back", "P36", ledgerTests, overFake + "^nobody_is_erased", []edit{{sealing,
		`if count.Due > 0 {`, `if count.Due > 1 {`}}},
	{"the other sales of a group are not looked at", "P36", ledgerTests, overFake + "^nobody_is_erased", []edit{{sealing,
		`	return ids, nil
`, `	return ids[:1], nil
`}, {sealing, `for _, id := range ids {
		listing,`, `for _, id := range ids[:1] {
		listing,`}}},
	{"an erased buyer's key stays", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{erasing,
		`delete(moved, "requestKey")`, `delete(moved, "noKey")`}}},
	{"an erasure counts twice", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{erasing,
		`item{":one": num(1)}`, `item{":one": num(2)}`}}},
	{"an erased user's claim lies where nobody looks", "P36", bookTests, "^TestASaleFromWhich", []edit{{erasing,
		`sale.BucketOf(erased, h.Sale.Buckets)`, `sale.BucketOf(user, h.Sale.Buckets)`}}},
	{"an erasure is published", "P36", ledgerTests, overFake + "^an_erased_user", []edit{{"shared/ledger/events.go",
		`before == nil && after["orderId"] != nil`, `before == nil && after["orderID"] != nil`}}},
	{"the recount takes anybody for erased", "P36", bookTests, "^TestEachKindOfBrokenErasure", []edit{{"infra/kit/books/seal.go",
		`p.erased > p.before.sale.erased`, `false`}}},
	{"any event is taken for an erased user's", "P36", bookTests, "^TestASaleFromWhich", []edit{{"infra/kit/books/events.go",
		`	e.members["user"] = l.members["user"]
	return e.sum(c.file.seed) == l.sum`, `	return l.members["user"] != ""`}}},
	{"a sale is archived while it is young", "P36", ledgerTests, overFake + "^no_sale_is_archived", []edit{{archiving,
		`l.now().Before(from)`, `l.now().After(from)`}}},
	{"an archive that is cut off is taken", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_is_cut", []edit{{archiving,
		`			return Archived{}, sale.Refuse(sale.Poison, "the archive is cut off")
`, `			return a.sum(), nil
`}}},
	{"an archive that was changed is taken", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_is_cut", []edit{{archiving,
		`err != nil || end.Archive != a.sum()`, `err != nil`}}},
	{"the table is not compared with the archive", "P36", ledgerTests, overFake + "^nothing_is_deleted_by_an_archive_that_the_table", []edit{{archiving,
		`if now != sum {`, `if now.SaleID != sum.SaleID {`}}},
	{"any archive finishes another", "P36", ledgerTests, overFake + "^an_archive_that_was_cut_off", []edit{{archiving,
		`case s.Archive != sum.Digest:`, `case false:`}}},
	{"the digest has the users", "P36", ledgerTests, overFake + "^an_archive_from_which", []edit{{archiving,
		`	delete(bare, "user")
`, ``}}},
	{"the digest has neither sale nor group of what depends on the user", "P36", ledgerTests, overFake + "^the_entries_of_a_draw_are_archived|^an_archive_that_names", []edit{{archiving,
		`		bare[attrPK] = map[string]any{"S": pk[:max(0, strings.LastIndexByte(pk, '#'))]}
`, `		delete(bare, attrPK)
`}}},
	{"an archive deletes the guard of another sale's user", "P34", ledgerTests, overFake + "^an_archive_that_names", []edit{{archiving,
		`	case "GUARD":
		d.batch = append(d.batch, d.deleteArchivedGuard(key, one))
`, ``}}},
	{"claims are left behind an archive", "P36", ledgerTests, overFake + "^an_archive_from_which", []edit{{archiving,
		`if len(left.Items) > 0 {`, `if len(left.Items) > 1 {`}}},
	{"the refunds of an archived sale name users", "P36", ledgerTests, overFake + "^an_archived_sale", []edit{{archiving,
		`		if it["user"] == nil {`, `		if it["user"] != nil {`}}},
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
