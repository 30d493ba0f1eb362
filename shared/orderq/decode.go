package orderq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"flashsale/shared/sale"
)

// maxBody is the longest body that Decode reads, in bytes; a real message is below 1
// KiB.
const maxBody = 4 << 10

// Decode reads a message. It fails with sale.NewerVersion for a message that a newer
// release can read, whatever else is in it; what a newer sender adds within a known
// version is ignored. Anything else but a complete, valid message is sale.Poison:
// another delivery would not help (P10).
func Decode(body string) (Message, error) {
	if len(body) > maxBody {
		return Message{}, poison(errors.New("body too long"))
	}
	w, ok := cut(body)
	var err error
	if !ok {
		w, err = unmarshal(body)
	}
	switch {
	case w.V > sale.ReadsMessages:
		return Message{}, sale.Fail(sale.NewerVersion,
			fmt.Errorf("a message of version %d, and this release reads version %d", w.V, sale.ReadsMessages))
	case err != nil:
		return Message{}, poison(err)
	case w.V < 1:
		return Message{}, poison(fmt.Errorf("schema version %d", w.V))
	case !sale.ValidID(w.SaleID):
		return Message{}, poison(errors.New("invalid saleId"))
	case !sale.ValidUser(w.User):
		return Message{}, poison(errors.New("invalid user"))
	case !sale.ValidID(w.ClaimID):
		return Message{}, poison(errors.New("invalid claimId"))
	case w.Buckets < 0 || w.Buckets > sale.MaxShards:
		return Message{}, poison(errors.New("invalid buckets"))
	}
	return w.Message, nil
}

// cut reads a message of plain parts exactly as Encode writes it; it reports false for
// any other message, which may still be valid.
func cut(body string) (wire, bool) {
	rest, isHead := strings.CutPrefix(body, head)
	rest, isTail := strings.CutSuffix(rest, tail)
	saleID, rest, isSale := strings.Cut(rest, toUser)
	user, rest, isUser := strings.Cut(rest, toClaim)
	claimID, number, isClaim := strings.Cut(rest, toBuckets)
	buckets, err := strconv.Atoi(number)
	// strconv accepts more spellings than JSON does and Encode writes.
	isClaim = isClaim && err == nil && buckets > 0 && number[0] != '0' && number[0] != '+'
	if !isHead || !isTail || !isSale || !isUser || !isClaim || !plain(saleID) || !plain(user) || !plain(claimID) {
		return wire{}, false
	}
	return wire{1, Message{saleID, user, claimID, buckets}}, true
}

// unmarshal also returns the version of a message whose other members have unexpected
// types.
func unmarshal(body string) (w wire, err error) {
	if !utf8.ValidString(body) {
		return w, errors.New("body is not UTF-8")
	}
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return w, fmt.Errorf("decode: %w", err)
	}
	return w, nil
}

func poison(err error) error { return sale.Fail(sale.Poison, err) }

type wire struct {
	V int `json:"v"`
	Message
}

// Fast path: a message whose parts need no JSON escaping is cut at these texts.
// encoding/json would cost more than everything else that finalize does with a
// message besides its calls.
const (
	head      = `{"v":1,"saleId":"` // of version 1 only
	toUser    = `","user":"`
	toClaim   = `","claimId":"`
	toBuckets = `","buckets":`
	tail      = `}`
)

// plain reports whether JSON quotes the text as it is.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
