package books

import (
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestTheFirstThingThatIsWrongWithAnItemIsKept(t *testing.T) {
	it := item{"pk": text("p"), "sk": text("s"), "name": text("moutai"), "stock": number("-3"), "half": number("0.5")}
	f := newFields(it)
	if f.text("name") != "moutai" || f.number("stock") != -3 || f.problem != "" {
		t.Errorf("read %+v", f)
	}
	f.number("half")
	f.text("stock")
	if got, want := f.end(), "half is not an integer"; got != want {
		t.Errorf("the problem is %q, want %q", got, want)
	}
	for wrong, read := range map[string]func(*fields){
		"stock is not a string":                                     func(f *fields) { f.text("stock") },
		"missing is not a number":                                   func(f *fields) { f.number("missing") },
		"name is not a boolean":                                     func(f *fields) { f.flag("name") },
		"stock is not a set of numbers":                             func(f *fields) { f.numbers("stock") },
		"has attributes that are not documented: half, name, stock": func(*fields) {},
	} {
		f := newFields(it)
		if read(f); f.end() != wrong {
			t.Errorf("the problem is %q, want %q", f.end(), wrong)
		}
	}
}

var documentedItem = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| `([^`]+)` \\| ([^|]+) \\|$")

// kinds are the readers of all kinds of items, by kind.
var kinds = map[string]func(item) string{
	"sale":                          func(it item) string { _, problem := readSale(it); return problem },
	"what its creation asked for":   func(it item) string { _, problem := readCreate(it); return problem },
	"addition or withdrawal":        func(it item) string { _, problem := readSeed(it); return problem },
	"addition's receipt of a shard": func(it item) string { _, problem := readReceipt(it); return problem },
	"withdrawal's step":             func(it item) string { _, problem := readStep(it); return problem },
	"withdrawal's end":              func(it item) string { _, problem := readStep(it); return problem },
	"edit in the trail":             func(it item) string { _, problem := readChange(it); return problem },
	"description in the trail":      func(it item) string { _, problem := readChange(it); return problem },
	"listing":                       func(it item) string { _, problem := readListing(it); return problem },
	"stock shard":                   func(it item) string { _, problem := readShard(it); return problem },
	"claim":                         func(it item) string { _, problem := readClaim(it, 0); return problem },
	"order":                         func(it item) string { _, problem := readOrder(it); return problem },
	"refund":                        func(it item) string { _, problem := readRefund(it); return problem },
	"payment's guard":               func(it item) string { _, problem := readGuard(it); return problem },
	"group of sales":                func(it item) string { _, problem := readSales(it); return problem },
	"guard of a user in a group":    func(it item) string { _, problem := readBarred(it); return problem },
	"refund of an unknown order":    func(it item) string { _, problem := readRefund(it); return problem },
	"sequence":                      func(it item) string { _, problem := readSequence(it); return problem },
	"entry in a draw":               func(it item) string { _, problem := readEntry(it); return problem },
	"key of a draw's receipts":      func(it item) string { _, problem := readLeafKey(it); return problem },
	"part of a roll":                func(it item) string { _, _, _, problem := readPart(it); return problem },
	"draw whose roll is closed":     func(it item) string { _, problem := readHead(it); return problem },
	"call":                          func(it item) string { _, problem := readCall(it); return problem },
}

// actions are what the described items of changes do.
var actions = map[string]string{"addition or withdrawal": "add", "edit in the trail": "pause", "description in the trail": "describe"}

func TestTheItemsAreReadAsTheDocumentDescribesThem(t *testing.T) {
	document, err := os.ReadFile("ITEMS.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]types.AttributeValue{
		"string": text("OPEN"), "number": number("1"), "boolean": &types.AttributeValueMemberBOOL{Value: true},
		"number-set": &types.AttributeValueMemberNS{Value: []string{"0"}},
		"binary":     &types.AttributeValueMemberB{Value: make([]byte, 32)},
		"string-set": &types.AttributeValueMemberSS{Value: []string{"stripe#pi_2"}}, "fate": text("refund-due"),
		"sales":   &types.AttributeValueMemberSS{Value: []string{"s"}},
		"opensAt": number("1762866000000"), "closesAt": number("1762869600000"), "acceptedAt": number("1762866000000"),
		"resentAt": number("1762866000000"), "at": number("1762866000000"), "orderId": number("406709376884146177"),
		"cursor": text("{}"), "books": text("{}"), "releasing": text("{}"), "nextDue": number("1762866000000"), "refundAt": number("1762866000000"), "minReader": number("2"),
		"sealedAt": number("1762866000000"), "recalledAt": number("1762866000000"), "restoredAt": number("1762866000000"), "recalling": number("1762866000000"),
		"payWithin": number("1800"), "currency": text("CNY"), "payment": text("stripe#pi_1"), "releasedBy": text("expiry"), "reason": text("released"),
		"paidAt": number("1762866000000"), "releasedAt": number("1762866000000"), "refundedAt": number("1762866000000"),
		"enterFrom": number("1762776000000"), "enterUntil": number("1762862400000"), "beginsAt": number("1762866000000"), "endsAt": number("1762869600000"),
		"operatedAt": number("1762866000000"), "closedAt": number("1762862400000"), "from": number("1762866000000"), "until": number("1762869600000"),
		"archive": text(strings.Repeat("0a", 32)), "archivedKeys": text(strings.Repeat("0a", 32)), "archivedAt": number("1762866000000"), "roll": text(strings.Repeat("0a", 32)), "seed": text(strings.Repeat("0a", 32)), "signature": text(strings.Repeat("0a", 48)),
		"lo": text(strings.Repeat("0a", 16)), "hi": text(strings.Repeat("0a", 16)),
		"image": text("https://images.example/a.jpg"), "link": text("https://shop.example/"),
	}
	// Whatever is there only together.
	together := map[string][]string{
		"price": {"currency"}, "currency": {"price", "amount"}, "paidAt": {"payment", "amount", "currency"}, "payment": {"paidAt", "amount", "currency"}, "amount": {"currency"},
		"releasedAt": {"releasedBy"}, "action": {"actor", "verified", "note"}, "releasedBy": {"releasedAt"}, "released": {"putBack"}, "putBack": {"released"},
		"seed": {"signature"}, "signature": {"seed"}, "hi": {"stock"}, "stock": {"open"},
		"payWithin": {"nextDue"}, "recalledAt": {"recallNote"}, "sealedAt": {"erased", "archive", "archivedClaims", "archivedKeys", "archivedAt"}, "archive": {"archivedClaims", "archivedKeys", "archivedAt"}, "archivedClaims": {"archive", "archivedKeys", "archivedAt"}, "archivedKeys": {"archive", "archivedClaims", "archivedAt"}, "orderId": {"saleId"},
	}
	drawn := []string{"enterFrom", "enterUntil", "keepHours", "beginsAt", "endsAt", "call", "openCall", "operatedAt"}
	for _, name := range drawn {
		together[name] = drawn
	}
	described := documentedItem.FindAllStringSubmatch(string(document), -1)
	if len(described) != len(kinds) {
		t.Errorf("%d kinds are described, %d are read", len(described), len(kinds))
	}
	for _, d := range described {
		read := kinds[d[1]]
		if read == nil {
			t.Errorf("no reader for %q", d[1])
			continue
		}
		fill := strings.NewReplacer("<sale>", "s", "<shard>", "0", "<bucket>", strconv.Itoa(bucketOf("u", guardBuckets)), "<group>", "g", "<user>", "u", "<order>", "406709376884146177", "<day>", "2026-11-11", "<seed>", "x", "<step>", "0", "<page>", "00", "<part>", "0", "<call>", "0000000001", "<number>", "0000000001",
			"<provider>", "stripe", "<reference>", "pi_1")
		whole := func() item { return item{"pk": text(fill.Replace(d[2])), "sk": text(fill.Replace(d[3]))} }
		it := whole()
		optional := map[string]bool{}
		for _, a := range strings.Split(d[4], ", ") {
			name, kind, ok := strings.Cut(a, " ")
			if !ok || values[kind] == nil {
				t.Fatalf("%s: %q is no attribute", d[1], a)
			}
			name, maybe := strings.CutSuffix(name, "?")
			optional[name] = maybe
			if it[name] = values[name]; it[name] == nil {
				it[name] = values[kind]
			}
		}
		if action := actions[d[1]]; action != "" {
			it["action"] = text(action)
		}
		if d[2] == "REFUND#" {
			it["reason"] = text("unknown-order")
		}
		if problem := read(it); problem != "" {
			t.Errorf("%s as it is described: %s", d[1], problem)
		}
		for name, maybe := range optional {
			value, others := it[name], item{}
			delete(it, name)
			for _, other := range together[name] {
				if maybe && it[other] != nil && optional[other] {
					others[other] = it[other]
					delete(it, other)
				}
			}
			if problem := read(it); (problem == "") != maybe {
				t.Errorf("%s without %s: %q", d[1], name, problem)
			}
			maps.Copy(it, others)
			// The client returns nil, or has returned an UnknownUnionMember, for a type that it does not know.
			for _, other := range []types.AttributeValue{&types.AttributeValueMemberBS{}, &types.UnknownUnionMember{Tag: "X"}, nil} {
				if it[name] = other; read(it) == "" {
					t.Errorf("%s: %s may be %T", d[1], name, other)
				}
			}
			it[name] = value
		}
		it["extra"] = text("x")
		if problem := read(it); problem != "has attributes that are not documented: extra" {
			t.Errorf("%s with an attribute that is not described: %q", d[1], problem)
		}
	}
}
