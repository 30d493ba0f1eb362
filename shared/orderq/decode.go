package orderq

import (
	"encoding/json"
	"errors"
	"fmt"
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
	w, err := unmarshal(body)
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
