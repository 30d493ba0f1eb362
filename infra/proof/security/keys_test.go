package security

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestASaleIDThatIsNoneBecomesNoKey(t *testing.T) {
	s := shared(t)
	s.openSale(t, "keys", 5)
	before := s.books(t)
	alice := bearer(s.token("alice"))
	for name, id := range map[string]string{
		"a separator":                "keys%23",
		"a whole key":                "SALE%23keys",
		"an encoded slash":           "keys%2Forders",
		"an encoded slash, twice":    "keys%252Forders",
		"two dots":                   "%2e%2e",
		"a NUL at the end":           "keys%00",
		"a line end":                 "keys%0d%0a",
		"a quote":                    "keys%27",
		"a Cyrillic letter":          url.PathEscape("kеys"),
		"full-width letters":         url.PathEscape("ｋeys"),
		"a turn of direction":        url.PathEscape("\u202ekeys"),
		"bytes that are not UTF-8":   "keys%ff",
		"an overlong slash":          "keys%c0%af",
		"65 characters":              strings.Repeat("k", 65),
		"5,000 characters":           strings.Repeat("k", 5000),
		"a UTF-7 or IIS form of a #": "keys%u0023",
	} {
		for _, call := range []struct{ method, path string }{
			{http.MethodPost, "/sales/%s/orders"}, {http.MethodGet, "/sales/%s/orders/me"}, {http.MethodGet, "/sales/%s"},
		} {
			a, err := s.send(call.method, fmt.Sprintf(call.path, id), "", alice)
			if err != nil {
				t.Errorf("%s, %s: %v", name, call.path, err)
				continue
			}
			// The server refuses an invalid path before the gateway sees it.
			if a.status != http.StatusBadRequest || a.text("code") != "invalid-request" && !strings.Contains(id, "%u") {
				t.Errorf("a sale id with %s, %s: %v", name, call.path, a)
			}
		}
	}
	s.unchanged(t, before)
}

func TestSalesWithSimilarIDsShareNothing(t *testing.T) {
	s := shared(t)
	ids := []string{"lot", "Lot", "LOT", "lot-", "lot_", "lot0", "lot-0", "0", "-lot", "l", "__proto__", "constructor", "me", "orders"}
	claims := map[string]string{}
	for _, id := range ids {
		s.openSale(t, id, 1)
	}
	for _, id := range ids {
		claims[id] = s.buy(t, id, "alice") // the only unit of each: a shared one would be sold out
	}
	for _, id := range ids {
		if a := s.must(t, http.MethodGet, "/sales/"+id+"/orders/me", "", bearer(s.token("alice"))); a.text("claimId") != claims[id] {
			t.Errorf("the claim in %s: %v, want %s", id, a, claims[id])
		}
		if n := len(s.books(t).claims(t, id)); n != 1 {
			t.Errorf("%s has %d claims, want 1", id, n)
		}
	}
}

func TestUsersWhoLookAlikeAreDifferentUsers(t *testing.T) {
	s := shared(t)
	s.openSale(t, "alike", 100)
	users := []string{
		"zoe", "Zoe", "zoe#", "#zoe", "zoe#0", "0#zoe", "zoë", "zoe\u0308", "ｚoe", "zое",
		"zoe|0", "zoe%00", `zoe\u0000`, `zoe"`, "zoe'", "zoe,", "zoe/..", "CLAIM#alike#0", "CLAIM#alike#0 zoe", "STOCK", "SALE", "ORDER",
		"__proto__", "constructor", "null", "undefined", "true", "[zoe]", "map[sub:zoe]", "𝓏oe", "zoe\U0001F377",
		strings.Repeat("z", 254), strings.Repeat("z", 255), strings.Repeat("\U0001F377", 128),
	}
	claims := map[string]string{}
	for _, user := range users {
		claims[user] = s.buy(t, "alike", user)
	}
	for _, user := range users {
		a := s.must(t, http.MethodGet, "/sales/alike/orders/me", "", bearer(s.token(user)))
		if a.status != http.StatusOK || a.text("claimId") != claims[user] {
			t.Errorf("the claim of %q: %v, want %s", user, a, claims[user])
		}
	}
	if held := s.books(t).claims(t, "alike"); len(held) != len(users) {
		t.Errorf("%d users have %d claims: %q", len(users), len(held), buyers(held))
	}
	for _, user := range users {
		if failed, all := s.finalize(t, orderNote("m", "alike", user, claims[user])); all || len(failed) > 0 {
			t.Errorf("the order of %q is not confirmed", user)
		}
	}
	owners := map[string]bool{}
	for _, order := range s.books(t).orders("alike") {
		owners[order["user"]] = true
	}
	if len(owners) != len(users) {
		t.Errorf("%d users own orders, want %d", len(owners), len(users))
	}
}
