package sale

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAnIDIsOneTo64CharactersOfItsAlphabet(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	for b := range 256 {
		s := string([]byte{byte(b)})
		if got, want := ValidID(s), strings.Contains(alphabet, s) && b < utf8.RuneSelf; got != want {
			t.Errorf("ValidID(%q) = %t, want %t", s, got, want)
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 63: true, 64: true, 65: false, 4096: false} {
		if got := ValidID(strings.Repeat("a", n)); got != want {
			t.Errorf("ValidID of %d characters = %t, want %t", n, got, want)
		}
	}
	for _, s := range []string{"moutai#STOCK", "moutai/1", "a b", " a", "a\n", "a\x00", "茅台", "a.b", "a%23b", "m\u043eutai", "ｍoutai", "\u202emoutai"} {
		if ValidID(s) {
			t.Errorf("ValidID(%q) = true, want false", s)
		}
	}
}

func TestAUserIsOneTo128PrintableCharacters(t *testing.T) {
	for _, tt := range []struct {
		name, user string
		want       bool
	}{
		{"a plain name", "alice", true},
		{"an identity provider's sub", "auth0|507f1f77bcf86cd799439011", true},
		{"a key separator", "SALE#moutai", true},
		{"a space inside", "alice liddell", true},
		{"Chinese characters", "用户一", true},
		{"a combining mark", "e\u0301", true},
		{"128 characters of four bytes", strings.Repeat("𠀀", 128), true},
		{"nothing", "", false},
		{"255 characters of one byte", strings.Repeat("a", 255), true},
		{"129 characters, one of them of two bytes", strings.Repeat("a", 128) + "é", false},
		{"256 characters of one byte", strings.Repeat("a", 256), false},
		{"129 characters of four bytes", strings.Repeat("𠀀", 129), false},
		{"a NUL", "a\x00b", false},
		{"a no-break space", "a\u00a0b", false},
		{"a zero-width space", "a\u200bb", false},
		{"a text-direction override", "a\u202eb", false},
		{"an unassigned character", "\U000e0fff", false},
		{"an overlong encoding", "\xc0\xaf", false},
	} {
		if got := ValidUser(tt.user); got != tt.want {
			t.Errorf("%s: ValidUser(%.40q) = %t, want %t", tt.name, tt.user, got, tt.want)
		}
	}
}

func TestNobodyIsAdmittedWhoseIdBeginsOrEndsWithABlank(t *testing.T) {
	for user, want := range map[string]bool{"alice": true, "alice liddell": true, "alice ": false, " alice": false, " ": false, "": false, "alice\n": false} {
		if got := AdmitsUser(user); got != want {
			t.Errorf("AdmitsUser(%q) = %t, want %t", user, got, want)
		}
	}
}
