package books

import (
	"bytes"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/maintenance"
)

func (w *world) erase(users ...string) {
	w.T.Helper()
	for _, user := range users {
		w.Succeeds(nil, maintenance.Of(w.Ledger).Erase(w.Ctx, user, func(maintenance.Held) {}))
	}
}

// beforeErasure is a drained sale of a group; user-0 has paid, and a second payment has gone back.
func beforeErasure(t *testing.T) *world {
	w := newWorld(t)
	c := w.Sale(9, 5)
	c.LimitGroup = "shoe"
	w.Create(c)
	w.Confirmed(w.buy(0, 4))
	w.pays("user-0", "pi_1")
	w.pays("user-0", "pi_2")
	w.refunds("stripe#pi_2")
	w.Pass(72 * time.Hour)
	w.drain()
	return w
}

// over lets the world's sale end.
func over(w *world) *world {
	w.Pass(72 * time.Hour)
	w.ReleasesBy(w.Ledger)
	w.drain()
	return w
}

func drawnAndOver(t *testing.T) *world { return over(drawnSale(t)) }

func afterErasure(t *testing.T) *world {
	w := beforeErasure(t)
	w.erase("user-0")
	return w
}

func TestASaleFromWhichUsersWereErasedBalancesWithTheEventsOfBefore(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) *world{
		"in a group": beforeErasure,
		"drawn":      drawnAndOver,
		"late":       func(t *testing.T) *world { return over(lateSale(t)) },
		"extended":   func(t *testing.T) *world { return over(extendedSale(t)) },
		"cancelled": func(t *testing.T) *world {
			w := cancelledSale(t)
			w.refunds("stripe#pi_0")
			_, _, err := w.Ledger.UnmarkRefund(w.Ctx, "moutai", "stripe#pi_0", "kim", "user-0 has not got it") // a note that goes
			w.Succeeds(nil, err)
			w.refunds("stripe#pi_0")
			w.refunds("stripe#pi_1")
			return over(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t)
			lines := w.published("moutai")
			w.erase("user-0", "user-1", "user-2")
			if r := w.items().recount(t, w.Now()); !r.Balanced {
				t.Errorf("not balanced: %v", r.Findings)
			}
			for what, published := range map[string][]string{"before": lines, "before and again": append(w.published("moutai"), lines...)} {
				if r := w.checkEvents("moutai", Options{Overdue: AtOnce}, published...); !r.Complete || r.NotKept == 0 {
					t.Errorf("the events that were published %s: %+v", what, r)
				}
			}
			for i := range lines {
				if strings.Contains(lines[i], `"user":"user-1"`) {
					lines[i] = strings.Replace(lines[i], `"state":"CONFIRMED"`, `"state":"PAID"`, 1)
				}
			}
			if r := w.checkEvents("moutai", Options{Overdue: AtOnce}, lines...); r.Complete {
				t.Error("an event with another state is taken for one of an erased user")
			}
		})
	}
}

func TestEachKindOfBrokenErasureIsNamed(t *testing.T) {
	breakages{
		{"the sale is not sealed", func(all items) { all.drop(saleKey, "sealedAt", "erased") }, "P36", "the sale was sealed at 1970-01-01"},
		{"its listing is not sealed", func(all items) { all.set(listingKey, "sealedAt", nil) }, "P36", "its listing at 1970-01-01"},
		{"it may be audited again", func(all items) { all.set(listingKey, "drained", nil) }, "P36", "and it is drained: false"},
		{"a pass is noted at a user", func(all items) { all[listingKey]["cursor"] = &types.AttributeValueMemberS{Value: "{}"} }, "P36", "still notes how far a pass came"},
		{"its group is not sealed", func(all items) { all.set(key{"GROUP#shoe", "GROUP"}, "sealedAt", nil) }, "P34", `its group "shoe" is not`},
		{"an erasure that was not counted", func(all items) { all.set(saleKey, "erased", nil) }, "P36", "but the sale counts 0 erasures"},
	}.areFound(afterErasure(t))
	w := drawnAndOver(t)
	w.erase("user-0")
	breakages{
		{"an entry that nobody erased is gone", func(all items) {
			maps.DeleteFunc(all, func(k key, _ item) bool { return kindOf(k) == "entry" && k.sk == "user-1" })
		}, "P27", "is on the roll, but is of nobody who entered"},
	}.areFound(w)
}

// archivedSale is a sale of a group whose four claims are archived.
func archivedSale(t *testing.T) *world { return archived(beforeErasure(t)) }

// archived archives the world's sale, which is drained.
func archived(w *world) *world {
	w.Pass(maintenance.ArchiveAfter)
	var file bytes.Buffer
	w.Succeeds(maintenance.Of(w.Ledger).WriteArchive(w.Ctx, "moutai", &file))
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil }
	w.Succeeds(maintenance.Of(w.Ledger).DeleteArchived(w.Ctx, "moutai", open))
	return w
}

func TestAnArchivedSaleSaysSoAndWhatIsLeftIsChecked(t *testing.T) {
	w := beforeErasure(t)
	lines := w.published("moutai")
	k := w.items().claim("user-1")
	claim := w.items()[k]
	w = archivedSale(t)
	r := w.items().recount(t, w.Now())
	if !r.Balanced || r.Claims != 0 || r.ArchivedClaims != 4 || len(r.Archive) != 64 || r.ArchivedAt != clock(w.Now().UnixMilli()) || len(r.NotLookedFor) != 1 {
		t.Errorf("got %+v", r)
	}
	if r := w.checkEvents("moutai", Options{Overdue: AtOnce}, lines...); !r.Complete || r.NotKept == 0 {
		t.Errorf("the events of before: %+v", r)
	}
	all := w.items()
	all[k] = claim
	all.set(saleKey, "archivedAt", nil)
	if r := all.recount(t, w.Now()); !r.Balanced || len(r.Unfinished) != 1 || !strings.Contains(r.Unfinished[0], "1 claims are left: repeat flashsale books prune") {
		t.Errorf("an archive that is under way: %+v", r)
	}
	breakages{
		{"a claim is left", func(all items) { all[k] = claim }, "P36", "but 1 claims are left"},
		{"units that nobody bought", func(all items) { all.add(saleKey, "archivedClaims", 1) }, "P2", "4 units were sold, but the archive has claims of 5: 1 too many"},
		{"a shard is gone", func(all items) { delete(all, shardKey(1)) }, "P2", "is missing"},
		{"a shard was seeded with more", func(all items) { all.add(shardKey(1), "seeded", 1).add(shardKey(1), "stock", 1) }, "P15", "units were seeded, should be"},
	}.areFound(archivedSale(t))
}
