package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// archived writes the archive of the sale.
func (w *World) archived() string {
	w.T.Helper()
	var file bytes.Buffer
	a, err := maintenance.Of(w.Environment()).WriteArchive(w.Ctx, "moutai", &file)
	w.Succeeds(nil, err)
	if again, err := maintenance.CheckArchive(strings.NewReader(file.String()), "moutai"); err != nil || again != a {
		w.T.Fatalf("read back it is %+v (%v), written %+v", again, err, a)
	}
	same(w.T, a.Lines, int64(strings.Count(file.String(), "\n"))-1)
	return file.String()
}

// deletes deletes what a file has.
func (w *World) deletes(ctx context.Context, l *ledger.Ledger, file string) (maintenance.Archived, error) {
	return maintenance.Of(l).DeleteArchived(ctx, "moutai", func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil })
}

// deleted deletes what a file has, or ends the test.
func (w *World) deleted(file string) {
	w.T.Helper()
	w.Succeeds(w.deletes(w.Ctx, w.Environment(), file))
}

// mayNotDelete expects that nothing of the sale is deleted by a file, nor sealed.
func (w *World) mayNotDelete(l *ledger.Ledger, code sale.Code, file, why string) {
	w.T.Helper()
	claims := w.Claims(2)
	w.refusedBecause(why, code, errOf(w.deletes(w.Ctx, l, file)))
	after := w.Claims(2)
	check(w.T, after[0]+after[1] == claims[0]+claims[1] && w.Item("SALE#moutai", "SALE")["archive"] == nil, "something was deleted")
	check(w.T, w.Item("SALE#moutai", "SALE")["sealedAt"] == nil && w.Item("GROUP#shoe", "GROUP")["sealedAt"] == nil, "something was sealed")
}

// toArchive is a sale of a group that has been over for 90 days: alice has paid, and two more payments of
// hers have gone back; bob and carol have not paid.
func (w *World) toArchive() []uint64 {
	w.T.Helper()
	c := w.openIn("shoe", "moutai", 2)
	ids := w.Ordered("alice", "bob", "carol")
	w.Settles(PaymentOf(ids[0], "pi_1"))
	for _, again := range []string{"pi_2", "pi_3"} {
		w.Settles(PaymentOf(ids[0], again))
		w.isRefused("stripe#"+again, "alice has no account")
		w.marksRefunded("moutai", "stripe#"+again)
		w.Succeeds(nil, w.unmarks("stripe#"+again))
		w.marksRefunded("moutai", "stripe#"+again)
	}
	w.ends(c)
	w.moment(c.ClosesAt.Add(maintenance.ArchiveAfter))
	return ids
}

// deletesInPart deletes what a file has, and is cut off after its first write.
func (w *World) deletesInPart(file string) {
	w.T.Helper()
	ctx, cut := w.cutAfter(1)
	w.Refused(sale.Busy, errOf(w.deletes(ctx, cut, file)))
}

// holdsNothing expects that the table names none of the users.
func (w *World) holdsNothing(users ...string) {
	w.T.Helper()
	for _, user := range users {
		hasLen(w.T, w.holds(user, 1), 0, "of %s", user)
	}
}

var archiving = map[string]func(*testing.T, *World){
	"an archived sale keeps no user, and what stays adds up": func(t *testing.T, w *World) {
		ids := w.toArchive()
		w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, &ledger.Audit{SaleID: "moutai", Positions: []ledger.Position{{Bucket: 1, After: "alice"}}}, nil))
		w.tamper("SALES", "moutai", "SET releasing = :x", text(`{"bucket":1,"after":"bob"}`))
		file := w.archived()
		for _, want := range []string{`"alice"`, `"bob"`, `{"archive":{"saleId":"moutai","lines":`, "stripe#pi_2"} {
			check(t, strings.Contains(file, want), "the archive has no %s", want)
		}
		a, err := w.deletes(w.Ctx, w.Environment(), file)
		if err != nil || a.Claims != 3 {
			t.Fatalf("got %+v (%v)", a, err)
		}
		claims, listing := w.Claims(2), w.Listing()
		check(t, len(claims) == 0 && listing.Cursor == nil && listing.Releasing == nil, "claims are left: %v, the listing is %+v", claims, listing)
		w.holdsNothing("alice", "bob", "carol")
		for _, id := range ids {
			w.Refused(sale.OrderNotFound, errOf(w.Environment().Order(w.Ctx, id)))
		}
		refunds := w.refunds("moutai")
		check(t, len(refunds) == 2 && refunds[0].User == "" && refunds[1].User == "" && refunds[0].UnmarkNote+refunds[0].Sent.Words == "" && refunds[0].Sent.Code != "", "the refunds are %+v", refunds)
		w.hasNumber(sale.ReadsSealed, "SALE#moutai", "SALE", "minReader")
		for _, at := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"GROUP#shoe", "GROUP"}} {
			w.hasNumber(w.Now().UnixMilli(), at[0], at[1], "sealedAt")
		}
		w.hasNumber(3, "SALE#moutai", "SALE", "archivedClaims")
		w.hasNumber(w.Now().UnixMilli(), "SALE#moutai", "SALE", "archivedAt")
		for _, p := range []string{"pi_1", "pi_2"} {
			again := w.Settles(PaymentOf(ids[0], p))
			check(t, !again.New && (again.Refund == nil) == (p == "pi_1"), "%s is reported again: %+v", p, again)
		}
		late := PaymentOf(ids[1], "pi_bob")
		done := w.Settles(late)
		check(t, done.Refund != nil && done.Refund.Reason == sale.RefundUnknownOrder, "a late payment is %+v", done)
		w.Refused(sale.Closed, w.buys("alice"))
		_, err = w.Environment().Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
		said := w.Refused(sale.Conflicting, err).Detail
		check(t, strings.Contains(said, "was archived on 2027-02-09: digest "+a.Digest), "the audit says %q", said)
		w.Refused(sale.Conflicting, w.Environment().Claims(w.Ctx, "moutai", func(sale.Sale, []sale.Claim) error { return nil }))
		w.Refused(sale.Conflicting, w.Environment().Events(w.Ctx, "moutai", func([]sale.Event) error { return nil }))
		w.Refused(sale.Conflicting, errOf(maintenance.Of(w.Environment()).WriteArchive(w.Ctx, "moutai", io.Discard)))
		whole := w.everything()
		w.Pass(time.Hour)
		again, err := w.deletes(w.Ctx, w.Environment(), file)
		check(t, err == nil && again == a && w.everything() == whole, "the same again: %+v (%v), and it changed", again, err)
	},
	"no sale is archived before its time, nor while it is not drained or a refund is due": func(t *testing.T, w *World) {
		c := w.Open(9, 2)
		ids := w.Ordered("alice")
		refuse := func(why string) {
			t.Helper()
			w.refusedBecause(why, sale.Conflicting, errOf(maintenance.Of(w.Environment()).WriteArchive(w.Ctx, "moutai", io.Discard)))
		}
		w.ends(c)
		w.moment(c.ClosesAt.Add(maintenance.ArchiveAfter - time.Millisecond))
		refuse("may be archived from ")
		w.Pass(time.Millisecond)
		w.Add("more", 1)
		refuse("is not drained")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Settles(PaymentOf(ids[0], "pi_2"))
		w.drains()
		refuse("1 refunds of the sale moutai are due")
	},
	"nothing is deleted by an archive that is cut off, changed, or of another sale": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		lines := strings.SplitAfter(file, "\n")
		l := w.Environment()
		for cut := range len(lines) - 1 {
			w.mayNotDelete(l, sale.Poison, strings.Join(lines[:cut], ""), "cut off")
		}
		w.mayNotDelete(l, sale.Poison, file[:len(file)-1], "cut off")
		w.mayNotDelete(l, sale.Poison, file+lines[0], "behind its end")
		w.mayNotDelete(l, sale.Poison, "x\n"+file, "line 1 of the archive is no item")
		w.mayNotDelete(l, sale.Poison, strings.Replace(file, `{"N":"199900"}`, `{"N":"199900","S":""}`, 1), "is no item")
		w.mayNotDelete(l, sale.Poison, strings.Replace(file, `"199900"`, `"1"`, 1), "does not fit its lines")
		w.mayNotDelete(l, sale.Poison, strings.Join(lines[1:], ""), "does not fit its lines")
		w.mayNotDelete(l, sale.Poison, strings.Replace(file, `{"archive":{"saleId":"moutai"`, `{"archive":{"saleId":"other"`, 1), "does not fit its lines")
		full := errors.New("the disk is full")
		_, err := maintenance.Of(l).DeleteArchived(w.Ctx, "moutai", func() (io.ReadCloser, error) { return nil, full })
		check(t, errors.Is(err, full), "got %v", err)
	},
	"nothing is deleted by an archive that the table has left behind": func(t *testing.T, w *World) {
		ids := w.toArchive()
		file := w.archived()
		w.Settles(PaymentOf(ids[1], "pi_bob"))
		w.Settles(PaymentOf(ids[1], "pi_bob-2"))
		w.mayNotDelete(w.Environment(), sale.Conflicting, file, "1 refunds of the sale moutai are due")
		w.marksRefunded("moutai", "stripe#pi_bob-2")
		w.mayNotDelete(w.Environment(), sale.Conflicting, file, "is not as the archive says any more")
	},
	"a claim that is paid while others are deleted stays": func(t *testing.T, w *World) {
		ids := w.toArchive()
		file := w.archived()
		l := w.beforeTransaction(2, func() { w.Settles(PaymentOf(ids[2], "pi_carol")) })
		w.refusedBecause("an order was paid after the archive was written", sale.Conflicting, errOf(w.deletes(w.Ctx, l, file)))
		same(t, w.claimOf("carol").Payment, "stripe#pi_carol")
	},
	"a sale that gets units meanwhile, or whose group gets a sale, is not archived": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		w.mayNotDelete(w.beforeTransaction(1, func() { w.openIn("shoe", "size-42", 1) }), sale.Busy, file, "")
		w.tamper("GROUP#shoe", "GROUP", "DELETE sales :x", map[string]types.AttributeValue{":x": &types.AttributeValueMemberSS{Value: []string{"size-42"}}})
		w.mayNotDelete(w.beforeTransaction(1, func() { w.Add("more", 1) }), sale.Conflicting, file, "is not drained")
	},
	"what an operator has noted about a buyer's order is in the archive, and in the table no more": func(t *testing.T, w *World) {
		ids := w.toArchive()
		made := cancellation("carol", ids[2], sale.Confirmed, sale.UnitKept)
		made.Note, made.ChangeID = "carol has moved away", "c1"
		unsaid := cancellation("bob", ids[1], sale.Confirmed, sale.UnitKept) // which comes before carol's
		unsaid.Note = ""
		w.Succeeds(w.Environment().CancelOrder(w.Ctx, unsaid))
		w.Succeeds(w.Environment().CancelOrder(w.Ctx, made))
		w.drains()
		file := w.archived()
		erased := strings.NewReplacer(`"carol has moved away"`, `""`, `"carol"`, `"erased-x"`).Replace(file)
		a, err := maintenance.CheckArchive(strings.NewReader(erased), "moutai")
		check(t, err == nil && erased != file && a.Claims == 3, "a file from which a user was erased has %+v (%v)", a, err)
		w.deleted(file)
		if !strings.Contains(file, "carol has moved away") || strings.Contains(w.everything(), "carol") {
			t.Errorf("the archive is\n%s\nthe table\n%s", file, w.everything())
		}
	},
	"an archive that was cut off anywhere is finished by the same file, and by no other": func(t *testing.T, w *World) {
		ids := w.toArchive()
		other := w.archived()
		w.Settles(PaymentOf(ids[2], "pi_carol"))
		file := w.archived()
		for writes := range 4 {
			ctx, l := w.cutAfter(writes)
			w.Refused(sale.Busy, errOf(w.deletes(ctx, l, file)))
		}
		check(t, w.Item("SALE#moutai", "SALE")["archive"] != nil && w.Item("SALE#moutai", "SALE")["archivedAt"] == nil, "it is not under way")
		w.refusedBecause("is being archived", sale.Conflicting, errOf(w.Environment().Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})))
		w.refusedBecause("was archived in another file", sale.Conflicting, errOf(w.deletes(w.Ctx, w.Environment(), other)))
		w.deleted(file)
		hasLen(t, w.Claims(2), 0)
		refunds, err := w.Environment().Refunds(w.Ctx, "moutai")
		check(t, err == nil && len(refunds) == 2 && refunds[0].User == "" && refunds[1].User == "", "the refunds are %+v (%v), want no user", refunds, err)
	},
	"an archive from which a user was erased is as good, but deletes nothing": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		erased := strings.ReplaceAll(file, `"alice"`, `"erased-x"`)
		a, err := maintenance.CheckArchive(strings.NewReader(erased), "moutai")
		check(t, err == nil && a.Claims == 3, "it has %+v (%v)", a, err)
		w.mayNotDelete(w.Environment(), sale.Conflicting, erased, "has other users than the table")
		w.deletesInPart(file)
		_, err = w.deletes(w.Ctx, w.Environment(), erased)
		if e := w.Refused(sale.Conflicting, err); !strings.Contains(e.Detail, "has other users than the table") || len(w.Claims(2)) == 0 {
			t.Errorf("refused with %v, and %d shards have claims", e, len(w.Claims(2)))
		}
		w.deleted(file)
		w.holdsNothing("alice", "bob", "carol")
	},
	"nobody is erased from a sale that is being archived": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		w.deletesInPart(file)
		w.mayNotErase(w.Environment(), sale.Conflicting, "is being archived: finish that first")
	},
	"an archive that a description overtakes deletes and seals nothing": func(_ *testing.T, w *World) {
		w.toArchive()
		w.mayNotDelete(w.beforeTransaction(1, func() {
			w.changes("moutai", sale.ActionDescribe, "late", sale.Author{})
		}), sale.Busy, w.archived(), "")
	},
	"an archive that an erasure overtakes deletes nothing, and is written again": func(t *testing.T, w *World) {
		w.toArchive()
		w.erases(w.Environment(), "carol")
		hasCode(t, sale.Busy, errOf(maintenance.Of(w.Environment()).WriteArchive(w.Ctx, "moutai", io.Discard)))
		w.Pass(pauseSettles)
		file := w.archived()
		l := w.beforeTransaction(1, func() { w.erases(w.Environment(), "bob") })
		w.Refused(sale.Busy, errOf(w.deletes(w.Ctx, l, file)))
		w.Pass(pauseSettles)
		w.Refused(sale.Conflicting, errOf(w.deletes(w.Ctx, w.Environment(), file)))
		claims := w.Claims(2)
		check(t, claims[0]+claims[1] == 3, "claims %v, want all", claims)
		w.deleted(w.archived())
	},
	"an archive that an erasure overtakes once the orders were compared deletes nothing": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		_, err := w.deletes(w.Ctx, w.overtaken("BatchGetItem", func() { w.erases(w.Environment(), "bob") }), file)
		if code := sale.CodeOf(err); code != sale.Busy && code != sale.Conflicting { // that, if bob is on a later page
			t.Errorf("got %v, want busy, or that the sale is not as the archive says", err)
		}
		claims := w.Claims(2)
		check(t, claims[0]+claims[1] == 3 && w.Item("SALE#moutai", "SALE")["archive"] == nil, "claims %v, want all, and no archive", claims)
	},
	"an archive forgets whom a payment goes back to, also if that was recorded meanwhile and cannot be seen yet": func(t *testing.T, w *World) {
		ids := w.toArchive()
		w.Settles(PaymentOf(ids[1], "pi_bob"))
		file := w.archived()
		hidden := map[string]stored{}
		isShown := false
		l := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
			tx, isTransaction := in.(*dynamodb.TransactWriteItemsInput)
			switch {
			case isTransaction && len(hidden) == 0 && tx.TransactItems[0].Delete != nil:
				for i, payment := range []string{"pi_4", "pi_5"} {
					w.Settles(PaymentOf(ids[i], payment))
					hidden[payment] = w.Item("REFUND#moutai", "stripe#"+payment)
					w.remove(hidden[payment]) // plain reads see a transaction item by item
				}
			case op == "UpdateItem" && len(hidden) > 0 && !isShown:
				isShown = true
				for _, refund := range hidden {
					w.place(refund)
				}
			}
			return call()
		})
		w.Succeeds(w.deletes(w.Ctx, l, file))
		for payment := range hidden {
			it := w.Item("REFUND#moutai", "stripe#"+payment)
			check(t, it != nil && it["user"] == nil, "the refund of %s is %v", payment, it)
		}
	},
	"an erasure that an archive overtakes seals and erases nothing": func(t *testing.T, w *World) {
		w.toArchive()
		file := w.archived()
		l := w.beforeTransaction(1, func() {
			w.Succeeds(w.deletes(w.Ctx, w.Environment(), file))
		})
		w.Refused(sale.Busy, maintenance.Of(l).Erase(w.Ctx, "alice", func(maintenance.Held) { t.Error("a sale is done") }))
		check(t, w.Item("SALE#moutai", "SALE")["erased"] == nil, "an erasure is counted")
	},
	"an archive that names a user of another sale deletes nothing": func(t *testing.T, w *World) {
		w.toArchive()
		w.tamper(guardOf("dave"), "dave", "SET saleId = :s, claimId = :c", map[string]types.AttributeValue{
			":s": &types.AttributeValueMemberS{Value: "size-42"}, ":c": &types.AttributeValueMemberS{Value: "c-dave"}})
		lines := strings.SplitAfter(w.archived(), "\n")
		for i, line := range lines {
			if strings.Contains(line, `"`+guardOf("alice")+`"`) && strings.Contains(line, `"alice"`) {
				lines[i] = strings.NewReplacer(guardOf("alice"), guardOf("dave"), "alice", "dave").Replace(line)
				w.mayNotDelete(w.Environment(), sale.Poison, strings.Replace(strings.Join(lines, ""), guardOf("dave"), "GUARD#boot#1", 1), "does not fit its lines")
			}
		}
		w.mayNotDelete(w.Environment(), sale.Conflicting, strings.Join(lines, ""), "has other users than the table")
		check(t, w.Item(guardOf("dave"), "dave") != nil, "the guard of dave is gone")
	},
	"the entries of a draw are archived, and its roll stays": func(t *testing.T, w *World) {
		c := w.OpenDraw(9, 2)
		w.moment(c.EnterFrom)
		w.entered("alice")
		w.moment(c.EnterUntil.Add(settle))
		w.Succeeds(w.closes(w.Environment()))
		w.ends(c)
		w.moment(c.ClosesAt.Add(maintenance.ArchiveAfter))
		file := w.archived()
		w.mayNotDelete(w.Environment(), sale.Poison, strings.ReplaceAll(file, "ENTRY#moutai#", "ENTRY#other#"), "does not fit its lines")
		erased := strings.ReplaceAll(file, `"alice"`, `"erased-x"`)
		w.mayNotDelete(w.Environment(), sale.Conflicting, erased, "has other users than the table")
		a, err := maintenance.CheckArchive(strings.NewReader(erased), "moutai")
		check(t, err == nil && a.Claims == 0 && a.Lines == int64(strings.Count(file, "\n"))-1, "without the entrant it has %+v (%v)", a, err)
		w.deleted(file)
		if w.entries() != 0 || len(w.Partition("ROLL#moutai")) != 1024 {
			t.Errorf("%d entries and %d parts of the roll are left", w.entries(), len(w.Partition("ROLL#moutai")))
		}
	},
}
