package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is the part of an answer that a client sees, without what varies per request.
func told(a answer) string {
	header := a.header.Clone()
	header.Del("Date")
	header.Del("Apigw-Requestid")
	return fmt.Sprint(a.status, header, a.raw)
}

func TestAnotherUsersOrderLooksLikeNone(t *testing.T) {
	s := shared(t)
	s.openSale(t, "private", 20)
	var ids []string
	for _, user := range []string{"alice", "bob", "carol"} {
		ids = append(ids, s.ordered(t, "private", user))
	}
	mine := s.ordered(t, "private", "mallory")
	mallory := bearer(s.token("mallory"))
	const free = "9223372036854775807"
	none := s.must(t, http.MethodGet, "/orders/"+free, "", mallory)
	if none.status != http.StatusNotFound || none.text("code") != "order-not-found" {
		t.Fatalf("an order that is not there: %v", none)
	}
	for _, id := range ids {
		other := s.must(t, http.MethodGet, "/orders/"+id, "", mallory)
		if diff := cmp.Diff(strings.ReplaceAll(told(none), free, id), told(other)); diff != "" {
			t.Errorf("order %s tells that it exists (-none +another's):\n%s", id, diff)
		}
	}
	if a := s.must(t, http.MethodGet, "/orders/"+mine, "", mallory); a.status != http.StatusOK || a.text("orderId") != mine {
		t.Errorf("the buyer's own order: %v", a)
	}
}

func TestCountingThroughOrderIDsFindsOnlyOnesOwn(t *testing.T) {
	s := shared(t)
	s.openSale(t, "count", 20)
	victims := map[string]bool{}
	for i := range 5 {
		victims[s.ordered(t, "count", fmt.Sprint("victim-", i))] = true
	}
	mine := s.ordered(t, "count", "walker")
	start, err := strconv.ParseUint(mine, 10, 63)
	if err != nil {
		t.Fatal(err)
	}
	found, passed := 0, 0
	// An id is seconds followed by the day's number: both are tried around the buyer's
	// own id.
	for seconds := range uint64(30) {
		// One user may read 20 orders at once, so an attacker needs many.
		walker := bearer(s.token("walker"))
		if seconds > 0 {
			walker = bearer(s.token(fmt.Sprint("walker-", seconds)))
		}
		for number := range uint64(12) {
			id := strconv.FormatUint(start-seconds<<32-number, 10)
			a := s.must(t, http.MethodGet, "/orders/"+id, "", walker)
			if victims[id] {
				passed++
			}
			switch {
			case id == mine && a.status == http.StatusOK:
				found++
			case a.status != http.StatusNotFound && a.status != http.StatusBadRequest: // not every number is an id
				t.Errorf("order %s: %v", id, a)
			}
		}
	}
	if found != 1 || passed == 0 {
		t.Errorf("found %d own orders and came past %d of others: the walk proves nothing", found, passed)
	}
}

func TestAnOrderIDHasOneSpelling(t *testing.T) {
	s := shared(t)
	s.openSale(t, "spelling", 2)
	id := s.ordered(t, "spelling", "alice")
	alice := bearer(s.token("alice"))
	number, err := strconv.ParseUint(id, 10, 63)
	if err != nil {
		t.Fatal(err)
	}
	wide := strings.Map(func(r rune) rune { return r - '0' + '０' }, id)
	for name, text := range map[string]string{
		"with a leading zero": "0" + id, "with a sign": "+" + id, "negative": "-" + id, "with a fraction": id + ".0",
		"with an exponent": id + "e0", "in hexadecimal": fmt.Sprintf("0x%x", number), "with a space": id + "%20", "with a line end": id + "%0A",
		"with a NUL": id + "%00", "in full-width digits": url.PathEscape(wide), "with a separator": id + "%23ORDER",
		"with a slash": id + "%2F", "with a dot segment": "x%2F..%2F" + id, "with a parameter": id + ";a=b", "with a comma": id + "," + id,
		"in underscores": id[:3] + "_" + id[3:], "in quotes": "%22" + id + "%22", "beyond 63 bits": strconv.FormatUint(number+1<<63, 10),
		"around 64 bits": "18446744073709551617", "of 10,000 digits": strings.Repeat("9", 5000), "a word": "me", "a pattern": "*", "a query": "1%20OR%201=1",
	} {
		a := s.must(t, http.MethodGet, "/orders/"+text, "", alice)
		if a.status != http.StatusBadRequest || a.text("code") != "invalid-request" {
			t.Errorf("an id %s: %v", name, a)
		}
	}
}

func TestAnotherUsersClaimCannotBeNamed(t *testing.T) {
	s := shared(t)
	s.openSale(t, "claims", 5)
	claim := s.buy(t, "claims", "alice")
	mallory := bearer(s.token("mallory"))
	for _, c := range []struct{ name, path string }{
		{"by her name", "/sales/claims/orders/alice"},
		{"by her claim's id", "/sales/claims/orders/" + claim},
		{"by her claim's id as an order", "/orders/" + claim},
		{"by her claim's id as a sale", "/sales/" + claim + "/orders/me"},
		{"by a query", "/sales/claims/orders/me?sub=alice&user=alice&claimId=" + claim},
		{"by a fragment of a key", "/sales/claims%230%23alice/orders/me"},
		{"by a key", "/sales/CLAIM%23claims%230/orders/me"},
		{"by a path in the sale", "/sales/claims%2Forders%2Falice/orders/me"},
		{"by dot segments", "/sales/claims/orders/me/../alice"},
		{"by encoded dot segments", "/sales/claims/orders/%2e%2e/alice"},
		{"by no sale", "/sales//orders/me"},
	} {
		a := s.must(t, http.MethodGet, c.path, "", mallory, pair{"X-User-Id", "alice"}, pair{"Idempotency-Key", claim})
		if a.status != http.StatusNotFound && a.status != http.StatusBadRequest || strings.Contains(a.raw, claim) {
			t.Errorf("%s: %v", c.name, a)
		}
	}
	// An Idempotency-Key belongs to its user: another buyer with the same key gets a
	// separate claim.
	key := pair{"Idempotency-Key", "shared-key"}
	hers := s.must(t, http.MethodPost, "/sales/claims/orders", "", bearer(s.token("carol")), key)
	his := s.must(t, http.MethodPost, "/sales/claims/orders", "", mallory, key)
	if hers.status != http.StatusAccepted || his.status != http.StatusAccepted || hers.text("claimId") == his.text("claimId") {
		t.Errorf("one key for two buyers: %v and %v", hers, his)
	}
}
