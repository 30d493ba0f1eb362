package books

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is an item of the table.
type item = map[string]types.AttributeValue

// key is the key of an item.
type key struct{ pk, sk string }

func keyOf(it item) key {
	pk, _ := it["pk"].(*types.AttributeValueMemberS)
	sk, _ := it["sk"].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return key{}
	}
	return key{pk.Value, sk.Value}
}

// fields reads an item's attributes and keeps the first deviation from ITEMS.md.
type fields struct {
	item    item
	read    []string // existing attributes that were read
	problem string   // "" if everything was as documented
}

func newFields(it item) *fields {
	return &fields{item: it, read: append(make([]string, 0, 16), "pk", "sk")}
}

func (f *fields) fail(problem string) {
	if f.problem == "" {
		f.problem = problem
	}
}

func (f *fields) failIf(is bool, problem string) {
	if is {
		f.fail(problem)
	}
}

// has reports whether an attribute that may be missing is there, of whatever type: the client
// returns nil for the value of a type that it does not know.
func (f *fields) has(name string) bool {
	_, there := f.item[name]
	return there
}

func (f *fields) value(name string) types.AttributeValue {
	v, there := f.item[name]
	if there {
		f.read = append(f.read, name)
	}
	return v
}

// typed is an attribute's value, or V's zero and a problem.
func typed[V types.AttributeValue](f *fields, name, kind string) (v V, ok bool) {
	v, ok = f.value(name).(V)
	f.failIf(!ok, name+" is not "+kind)
	return v, ok
}

// text is a string's value, or "" and a problem.
func (f *fields) text(name string) (text string) {
	if v, ok := typed[*types.AttributeValueMemberS](f, name, "a string"); ok {
		text = v.Value
	}
	return text
}

// number is an integer's value, or 0 and a problem.
func (f *fields) number(name string) (n int64) {
	if v, ok := typed[*types.AttributeValueMemberN](f, name, "a number"); ok {
		var err error
		n, err = strconv.ParseInt(v.Value, 10, 64)
		f.failIf(err != nil, name+" is not an integer")
	}
	return n
}

// flag is a boolean's value, or false and a problem.
func (f *fields) flag(name string) (is bool) {
	if v, ok := typed[*types.AttributeValueMemberBOOL](f, name, "a boolean"); ok {
		is = v.Value
	}
	return is
}

// binary is the value of a binary attribute, or nil and a problem.
func (f *fields) binary(name string) (b []byte) {
	if v, ok := typed[*types.AttributeValueMemberB](f, name, "binary"); ok {
		b = v.Value
	}
	return b
}

// texts is a set of strings, or nil and a problem.
func (f *fields) texts(name string) (all []string) {
	if v, ok := typed[*types.AttributeValueMemberSS](f, name, "a set of strings"); ok {
		all = v.Value
	}
	return all
}

// numbers is a set of whole numbers, or nil and a problem.
func (f *fields) numbers(name string) map[int]bool {
	v, ok := typed[*types.AttributeValueMemberNS](f, name, "a set of numbers")
	if !ok {
		return nil
	}
	set := make(map[int]bool, len(v.Value))
	for _, text := range v.Value {
		k, ok := index(text)
		f.failIf(!ok, name+" holds "+text+", which is no shard number")
		set[k] = true
	}
	return set
}

// within is a number from low to high.
func (f *fields) within(name string, low, high int64) int64 {
	n := f.number(name)
	f.failIf(n < low || n > high, name+" is out of range")
	return n
}

// between reads a number from low to high.
func (f *fields) between(low, high int64) func(name string) int64 {
	return func(name string) int64 { return f.within(name, low, high) }
}

// positive is a number from 1.
func (f *fields) positive(name string) int64 { return f.within(name, 1, math.MaxInt64) }

// optional is what read makes of an attribute, and zero if the attribute is missing.
func optional[T any](f *fields, name string, read func(string) T) (value T) {
	if f.has(name) {
		value = read(name)
	}
	return value
}

// The bounds of every instant of a sale, as Unix milliseconds.
var (
	year2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	year2100 = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

// instant is a time in Unix milliseconds.
func (f *fields) instant(name string) int64 { return f.within(name, year2000, year2100-1) }

// shard is the number of a shard, or -1 and a problem.
func (f *fields) shard() int {
	if v, ok := f.value("shard").(*types.AttributeValueMemberN); ok {
		if k, ok := index(v.Value); ok {
			return k
		}
	}
	f.fail("shard is not a shard number")
	return -1
}

// numbered is the number in ten digits, from 1, with which the item's sk ends after a prefix, or 0 and a problem.
func (f *fields) numbered(prefix string) int64 {
	sk := keyOf(f.item).sk
	n, err := strconv.ParseInt(strings.TrimPrefix(sk, prefix), 10, 64)
	if err != nil || n <= 0 || fmt.Sprintf("%s%010d", prefix, n) != sk {
		f.fail("sk is no number of an edit or a call")
		return 0
	}
	return n
}

// oneOf is a string that is one of these.
func (f *fields) oneOf(name string, all ...string) string {
	s := f.text(name)
	if !slices.Contains(all, s) {
		f.fail(name + " is none of " + strings.Join(all, ", "))
	}
	return s
}

// printable is a string of at most that many printable characters.
func (f *fields) printable(name string, most int) string {
	s := f.text(name)
	if !isText(s, most) {
		f.fail(fmt.Sprintf("%s is not at most %d printable characters", name, most))
	}
	return s
}

// isID reports whether s is a valid id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// id is a string that is a valid id.
func (f *fields) id(name string) string {
	s := f.text(name)
	f.failIf(!isID(s), name+" is not 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
	return s
}

// end returns what is wrong with the item, including undocumented attributes.
func (f *fields) end() string {
	if f.problem == "" && len(f.read) != len(f.item) {
		unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(f.item)), func(name string) bool { return slices.Contains(f.read, name) })
		f.fail("has attributes that are not documented: " + strings.Join(unknown, ", "))
	}
	return f.problem
}

// isText reports whether s is printable text of at most that many characters.
func isText(s string, most int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= most &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func isUser(s string) bool {
	return s != "" && (isText(s, 128) || isText(s, 255) && len(s) == utf8.RuneCountInString(s))
}

// index parses a whole number at the end of a key: no sign, no leading zero.
func index(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}
