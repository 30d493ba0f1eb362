package sale

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxID is the longest sale, seed, change, claim or request id, in bytes.
	MaxID = 64
	// MaxUser is the longest user id, in characters, and MaxASCIIUser that of ASCII alone, which is OpenID
	// Connect's bound of a sub. Either has at most 512 bytes, so a claim stays below 1 KB, and so does its message.
	MaxUser, MaxASCIIUser = 128, 255
)

// ValidID reports whether s may be a sale, seed, change or claim id or an idempotency
// key: 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'. The alphabet holds no
// key separator, so keys built from such ids are injective (P13).
func ValidID(s string) bool {
	if len(s) == 0 || len(s) > MaxID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// RefuseID returns the refusal of a request whose field of that name is no valid id.
func RefuseID(field string) *Error {
	return Refusef(InvalidRequest, "%s must be 1 to 64 characters of A-Z, a-z, 0-9, _ and -", field)
}

// ValidUser reports whether s may be a user id: 1 to 128 printable characters of valid
// UTF-8, or up to 255 of ASCII. A user id is never combined with other parts in a key, so it may contain any
// printable separator.
func ValidUser(s string) bool {
	if s == "" || len(s) > MaxUser*utf8.UTFMax || !utf8.ValidString(s) {
		return false
	}
	n := 0
	for _, r := range s {
		if n++; !printable(r) {
			return false
		}
	}
	return n <= MaxUser || n <= MaxASCIIUser && n == len(s)
}

// AdmitsUser reports whether s is the id of somebody who may buy, and whom an operator may look for: a
// valid one without a blank at either end, which nobody sees when the id is copied, and without the replacement
// character. That stands for what JSON or UTF-8 could not carry, such as half a surrogate pair: two different ids
// may have become this one (P13).
func AdmitsUser(s string) bool {
	return ValidUser(s) && s == strings.TrimSpace(s) && !strings.ContainsRune(s, utf8.RuneError)
}

// ErasedPrefix begins the ids that stand in erased users' places; what follows is random.
const ErasedPrefix = "erased-"

// IsErased reports whether the id is an erased user's.
func IsErased(user string) bool { return strings.HasPrefix(user, ErasedPrefix) }

// printable admits letters, marks, numbers, punctuation, symbols and the ASCII
// space; no control, format or unassigned characters.
func printable(r rune) bool { return unicode.IsPrint(r) }
