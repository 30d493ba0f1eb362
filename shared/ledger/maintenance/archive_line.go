package maintenance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/shared/ledger/table"
)

// lines writes items as lines of an archive: JSON objects with the attributes in the order of their names, each with
// its type before its value, as encoding/json writes them. It keeps its buffers, because there are millions.
type lines struct {
	whole, bare []byte
	names       []string
}

// of returns the line of an item, and what of it is in the digest: without the users, the notes about their orders, and
// what a seal or an archive writes into the sale. Both are valid until the next call.
func (l *lines) of(it table.Item) (whole, bare []byte, err error) {
	id := table.IdentityOf(it)
	kind, _, _ := strings.Cut(id.PK, "#")
	l.whole, l.bare = append(l.whole[:0], '{'), append(l.bare[:0], '{')
	l.names = slices.AppendSeq(l.names[:0], maps.Keys(it))
	slices.Sort(l.names)
	for _, name := range l.names {
		begin := len(l.whole)
		if l.whole, err = appendAttribute(l.whole, name, it[name]); err != nil {
			return nil, nil, fmt.Errorf("archive %v: %w", id, err)
		}
		switch {
		case isLeftOut(kind, name):
		case name == table.PK && (kind == "GUARD" || kind == "ENTRY"): // it ends with what depends on the user
			l.bare, err = appendAttribute(l.bare, name, table.S(id.PK[:max(0, strings.LastIndexByte(id.PK, '#'))]))
		default:
			l.bare = append(l.bare, l.whole[begin:]...)
		}
	}
	return closed(l.whole), closed(l.bare), err
}

// closed ends a line in place of its last comma.
func closed(line []byte) []byte { return append(line[:len(line)-1], '}', '\n') }

func isLeftOut(kind, name string) bool {
	switch name {
	case "user":
		return true
	case table.SK:
		return kind == "CLAIM" || kind == "GUARD" || kind == "ENTRY"
	case "note":
		return kind == "CANCELLED"
	case "sealedAt", "archive", "archivedClaims", "archivedUnits", "archivedKeys", "archivedAt", table.MinReader:
		return kind == "SALE"
	}
	return false
}

// appendAttribute appends an attribute and a comma.
func appendAttribute(line []byte, name string, value types.AttributeValue) ([]byte, error) {
	line = append(appendText(line, name), ':', '{')
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		line = appendText(append(line, `"S":`...), v.Value)
	case *types.AttributeValueMemberN:
		line = appendText(append(line, `"N":`...), v.Value)
	case *types.AttributeValueMemberBOOL:
		line = fmt.Appendf(line, `"BOOL":%t`, v.Value)
	case *types.AttributeValueMemberSS:
		line = appendTexts(append(line, `"SS":`...), v.Value)
	case *types.AttributeValueMemberNS:
		line = appendTexts(append(line, `"NS":`...), v.Value)
	default:
		return nil, fmt.Errorf("attribute %s is of another type", name)
	}
	return append(line, '}', ','), nil
}

// appendText appends a JSON string.
func appendText(line []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a string never fails
			return append(line, quoted...)
		}
	}
	return append(append(append(line, '"'), text...), '"')
}

// appendTexts appends a set in its order.
func appendTexts(line []byte, set []string) []byte {
	sorted, _ := json.Marshal(slices.Sorted(slices.Values(set)))
	return append(line, sorted...)
}

// attribute is an attribute of a line, of one type.
type attribute struct {
	S, N   *string
	BOOL   *bool
	SS, NS *[]string
}

// readLine reads the item of a line.
func readLine(line []byte) (table.Item, error) {
	var attributes map[string]attribute
	if err := jsonv2.Unmarshal(line, &attributes, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	it := make(table.Item, len(attributes))
	for name, a := range attributes {
		switch a {
		case attribute{}:
			return nil, errors.New("an attribute has no value")
		case attribute{S: a.S}:
			it[name] = table.S(*a.S)
		case attribute{N: a.N}:
			it[name] = &types.AttributeValueMemberN{Value: *a.N}
		case attribute{BOOL: a.BOOL}:
			it[name] = table.Bool(*a.BOOL)
		case attribute{SS: a.SS}:
			it[name] = table.SS(*a.SS...)
		case attribute{NS: a.NS}:
			it[name] = &types.AttributeValueMemberNS{Value: *a.NS}
		default:
			return nil, errors.New("an attribute has two types")
		}
	}
	return it, nil
}
