package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/drawcheck/rules"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

// DrawTimes are those of the draws: as short as clocks that differ by 30 seconds allow.
var DrawTimes = draw.Times{Settle: 4 * time.Minute, Dice: time.Minute, Gap: time.Minute}

// leafKey is the key of every draw's receipts, so that a run can be repeated.
var leafKey = bytes.Repeat([]byte{7}, 32)

func secret(b []byte) (int, error) { return copy(b, leafKey), nil }

// LeafOf returns the leaf of a user in every draw.
func LeafOf(user string) rules.Leaf { return rules.LeafOf(user, rules.NonceOf(leafKey, user)) }

// RankOf returns the rank of a user by a seed, both as the table spells them; "" if the seed is none.
func RankOf(seed, user string) string {
	var d rules.Digest
	if d.UnmarshalText([]byte(seed)) != nil {
		return ""
	}
	return rules.RankOf(d, LeafOf(user)).String()
}

// oneThrow are dice of which every round is the same, so that the order of the entrants does not
// depend on when a run is run.
type oneThrow struct{}

// Signature returns the signature of a round, which is not verified here.
func (oneThrow) Signature(_ context.Context, round uint64) ([]byte, error) {
	if time.Now().Before(beacon.Quicknet.TimeOf(round)) {
		return nil, errors.New("the round has not been signed")
	}
	return bytes.Repeat([]byte{5}, beacon.SignatureSize), nil
}

// PagesOf are the pages of a roll that the users are on if they enter.
func PagesOf(users []string) map[byte]bool {
	pages := map[byte]bool{}
	for _, user := range users {
		pages[LeafOf(user)[0]] = true
	}
	return pages
}

// StoreEmptyPages stores the pages of a roll on which none of the users can be, as a run would
// that closes it: a thousand writes, which need not be made under faults.
func StoreEmptyPages(db *dynamotest.DB, saleID string, users []string) {
	pages := PagesOf(users)
	for page := range rules.Pages {
		for part := 0; part < 4 && !pages[byte(page)]; part++ {
			if _, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(TableName), Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "ROLL#" + saleID}, "sk": &types.AttributeValueMemberS{Value: fmt.Sprintf("%02x#%d", page, part)},
				"leaves": &types.AttributeValueMemberB{Value: []byte{}},
			}}); err != nil {
				panic(err)
			}
		}
	}
}

// Page returns the page of a roll that the call reads, and its sale; ok is false if it reads none.
func (p Point) Page() (saleID string, page byte, ok bool) {
	if p.Op != "Query" {
		return "", 0, false
	}
	saleID, isRoll := strings.CutPrefix(p.keys[0], "ROLL#")
	n, err := strconv.ParseUint(strings.TrimSuffix(p.begins, "#"), 16, 8)
	return saleID, byte(n), isRoll && err == nil
}

// IsPart reports whether the call is about a part of a roll, or the entries of a page, of
// which there are hundreds: but for those of one page, that of PageUser.
func (p Point) IsPart() bool {
	if len(p.keys) != 1 {
		return false
	}
	kind, _, _ := strings.Cut(p.keys[0], "#")
	page := fmt.Sprintf("%02x", LeafOf(PageUser)[0])
	switch {
	case kind == "ROLL":
		return p.Op == "Query" || !strings.HasSuffix(p.keys[0], "|"+page+"#0")
	case kind == "ENTRY":
		return p.Op == "Query" && !strings.HasSuffix(p.keys[0], "#"+page)
	}
	return false
}

// PageUser is the user whose entry a draw's scenarios look at most closely.
const PageUser = "alice"

// IsOnRoll reports whether a user is on the roll.
func IsOnRoll(db *dynamotest.DB, saleID, user string) bool {
	leaf := LeafOf(user)
	it := db.Item(TableName, "ROLL#"+saleID, fmt.Sprintf("%02x#%d", leaf[0], leaf[1]>>6))
	part, _ := it["leaves"].(*types.AttributeValueMemberB)
	return part != nil && bytes.Contains(part.Value, leaf[:])
}

// WithdrawnBy returns how many units the steps of a withdrawal have taken.
func WithdrawnBy(db *dynamotest.DB, saleID, seedID string) (units int) {
	for step := 0; ; step++ {
		it := db.Item(TableName, "SALE#"+saleID, fmt.Sprintf("WITHDRAWN#%s#%d", seedID, step))
		if it == nil {
			return units
		}
		n, _ := Number(it["units"])
		units += int(n)
	}
}

// SeenOf is what is to be seen of a sale.
func SeenOf(db *dynamotest.DB, saleID string) sale.ReadVersion {
	it := db.Item(TableName, "SALE#"+saleID, "SALE")
	edits, _ := Number(it["edits"])
	seedings, _ := Number(it["seedings"])
	return sale.ReadVersion{Edits: edits, Seedings: seedings}
}
