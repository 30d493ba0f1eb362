package orderq

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

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
	var w wire
	err := jsonv2.Unmarshal([]byte(body), &w)
	if err != nil { // a newer version may have members of other types
		w = wire{}
		var newer struct {
			V int `json:"v"`
		}
		if jsonv2.Unmarshal([]byte(body), &newer) == nil {
			w.V = newer.V
		}
	}
	switch {
	case w.V > sale.ReadsMessages:
		return Message{}, sale.Fail(sale.NewerVersion,
			fmt.Errorf("a message of version %d, and this program reads version %d", w.V, sale.ReadsMessages))
	case err != nil:
		return Message{}, poison(fmt.Errorf("decode: %w", err))
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

func poison(err error) error { return sale.Fail(sale.Poison, err) }
