package books

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// reads is the highest minReader of an item that this recount understands.
const reads = 5

// ErrNewerVersion: the sale is stored for a newer release, whose recount must be used.
var ErrNewerVersion = errors.New("stored for a newer release")

// readable fails with ErrNewerVersion for an item that this recount does not understand.
// A minReader that is no number is left to the item's reader.
func readable(it item) error {
	v, ok := it["minReader"].(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil && n > reads {
		return fmt.Errorf("%w: %s, %s needs version %d, and this recount reads version %d", ErrNewerVersion, keyOf(it).pk, keyOf(it).sk, n, reads)
	}
	return nil
}
