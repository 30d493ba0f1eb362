package books

import (
	"cmp"
	_ "embed" // for the document
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/drawcheck/rules"
)

// document describes the items of the table. They are read by it.
//
//go:embed ITEMS.md
var document string

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

// kind is a kind of item in the document.
type kind struct {
	name       string
	pk, sk     keyForm
	attributes []attribute
}

// keyForm is how a text of a key is made: what does not change, and the names of the parts between, in turn.
type keyForm []string

type attribute struct {
	name, form string
	isOptional bool
	read       form
}

// form reads a value; ok is false for one that has another form.
type form func(types.AttributeValue) (value any, ok bool)

// described has the kinds of the document by what their partition keys begin with.
var described = func() map[string][]*kind {
	kinds, part := map[string][]*kind{}, regexp.MustCompile("[<>]")
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| `([^`]+)` \\| ([^|]+) \\|$").FindAllStringSubmatch(document, -1) {
		k := &kind{name: row[1], pk: part.Split(row[2], -1), sk: part.Split(row[3], -1)}
		for text := range strings.SplitSeq(row[4], ", ") {
			name, form, _ := strings.Cut(text, " ")
			name, isOptional := strings.CutSuffix(name, "?")
			k.attributes = append(k.attributes, attribute{name, form, isOptional, formOf(form)})
		}
		begin, _, _ := strings.Cut(row[2], "#")
		kinds[begin] = append(kinds[begin], k)
	}
	return kinds
}()

// locate returns the first kind of item that has such a key, "" for none, and the parts of the key by their names in the document.
func locate(k key) (kind string, of keyParts) {
	begin, _, _ := strings.Cut(k.pk, "#")
	for _, kind := range described[begin] {
		if parts := kind.parts(k); parts != nil {
			return kind.name, parts
		}
	}
	return "", nil
}

// keyParts are the parts of a key by their names in the document.
type keyParts []struct{ name, text string }

// get returns the part of that name; "" for none.
func (p keyParts) get(name string) string {
	for _, part := range p {
		if part.name == name {
			return part.text
		}
	}
	return ""
}

// parts are the parts of a key; nil if it is not the key of such an item.
func (k *kind) parts(of key) keyParts {
	parts := make(keyParts, 0, len(k.pk)/2+len(k.sk)/2)
	if k.pk.cut(of.pk, &parts) && k.sk.cut(of.sk, &parts) {
		return parts
	}
	return nil
}

// cut appends the parts of a text that is made so, and reports whether it is. What stands between two parts may occur in
// the first.
func (f keyForm) cut(text string, parts *keyParts) bool {
	rest, ok := strings.CutPrefix(text, f[0])
	for i := 1; ok && i < len(f); i += 2 {
		name, end := f[i], len(rest)
		if next := f[i+1]; next != "" {
			end = strings.LastIndex(rest, next)
		}
		if ok = end >= 0 && partForms[name](rest[:end]); ok {
			*parts = append(*parts, struct{ name, text string }{name, rest[:end]})
			rest = rest[end+len(f[i+1]):]
		}
	}
	return ok && rest == ""
}

var partForms = map[string]func(string) bool{
	"sale": isID, "seed": isID, "group": isID, "user": isUser, "payment": isPayment, "order": isOrder,
	"shard": isIndex, "bucket": isIndex, "step": isIndex,
	"id": isID,
	"time": func(s string) bool {
		at, err := time.Parse(sendingTime, s)
		return err == nil && at.Format(sendingTime) == s
	},
	"page":   func(s string) bool { return len(s) == 2 && strings.Trim(s, "0123456789abcdef") == "" },
	"part":   func(s string) bool { return len(s) == 1 && "0" <= s && s <= "3" },
	"number": func(s string) bool { return len(s) == 10 && s > "0000000000" && isIndex(strings.TrimLeft(s, "0")) },
	"day": func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	},
}

// formOf is the form with a name, as the document explains it.
func formOf(name string) form {
	kind, size, _ := strings.Cut(name, "-")
	most, _ := strconv.ParseInt(size, 10, 64)
	if low, err := strconv.ParseInt(kind, 10, 64); err == nil {
		return numberFrom(low, most)
	}
	if choice, isChoice := strings.CutPrefix(name, "="); isChoice {
		words := strings.Split(choice, "/")
		return stringThat(func(s string) bool { return slices.Contains(words, s) })
	}
	switch kind {
	case "text":
		return stringThat(func(s string) bool { return s != "" && isText(s, int(most)) })
	case "lines":
		return stringThat(func(s string) bool { return s != "" && areLines(s, int(most)) })
	case "new":
		return stringThat(func(s string) bool { return areLines(s, int(most)) })
	case "hex":
		return stringThat(regexp.MustCompile(fmt.Sprintf("^[0-9a-f]{%d}$", 2*most)).MatchString)
	}
	return forms[name]
}

var forms = map[string]form{
	"boolean":  valueThat(func(v *types.AttributeValueMemberBOOL) (any, bool) { return v.Value, true }),
	"true":     valueThat(func(v *types.AttributeValueMemberBOOL) (any, bool) { return true, v.Value }),
	"binary":   valueThat(func(v *types.AttributeValueMemberB) (any, bool) { return v.Value, true }),
	"number":   numberFrom(math.MinInt64, math.MaxInt64),
	"count":    numberFrom(0, math.MaxInt64),
	"positive": numberFrom(1, math.MaxInt64),
	"instant":  numberFrom(year2000, year2100-1),
	"order":    valueThat(func(v *types.AttributeValueMemberN) (any, bool) { return v.Value, isOrder(v.Value) }),
	"string":   stringThat(func(string) bool { return true }),
	"id":       stringThat(isID),
	"user":     stringThat(isUser),
	"payment":  stringThat(isPayment),
	"labels":   stringThat(areLabels),
	"json":     stringThat(func(s string) bool { return json.Valid([]byte(s)) }),
	"address":  stringThat(func(s string) bool { return strings.HasPrefix(s, "https://") && isText(s, 500) }),
	"currency": stringThat(regexp.MustCompile("^[A-Z]{3}$").MatchString),
	"ids":      stringsThat(isID),
	"payments": stringsThat(isPayment),
	"shards": valueThat(func(v *types.AttributeValueMemberNS) (any, bool) {
		set, ok := map[int]bool{}, true
		for _, text := range v.Value {
			k, _ := strconv.Atoi(text)
			set[k], ok = true, ok && isIndex(text)
		}
		return set, ok
	}),
}

// The bounds of every instant of a sale, as Unix milliseconds.
var (
	year2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	year2100 = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

func valueThat[V types.AttributeValue](read func(V) (any, bool)) form {
	return func(v types.AttributeValue) (any, bool) {
		if typed, ok := v.(V); ok {
			return read(typed)
		}
		return nil, false
	}
}

func numberFrom(low, high int64) form {
	return valueThat(func(v *types.AttributeValueMemberN) (any, bool) {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		return n, err == nil && low <= n && n <= high
	})
}

func stringThat(is func(string) bool) form {
	return valueThat(func(v *types.AttributeValueMemberS) (any, bool) { return v.Value, is(v.Value) })
}

func stringsThat(are func(string) bool) form {
	return valueThat(func(v *types.AttributeValueMemberSS) (any, bool) {
		isOther := func(s string) bool { return !are(s) }
		return v.Value, !slices.ContainsFunc(v.Value, isOther)
	})
}

// fields is an item that is read, and its first deviation from the document.
type fields struct {
	item    item
	parts   keyParts // of its key
	problem string   // "" if everything is as documented
}

func (f *fields) fail(problem string) { f.problem = cmp.Or(f.problem, problem) }

func (f *fields) failIf(is bool, problem string) {
	if is {
		f.fail(problem)
	}
}

// has reports whether an attribute is there, of whatever type: the client returns nil for the
// value of a type that it does not know.
func (f *fields) has(name string) bool { return isThere(f.item, name) }

func isThere(it item, name string) bool {
	_, there := it[name]
	return there
}

// with checks that some attributes are there only with another one.
func (f *fields) with(other string, names ...string) {
	if f.has(other) {
		return
	}
	for _, name := range names {
		if f.has(name) {
			f.fail(name + " is there, but no " + other)
		}
	}
}

// together checks that some attributes come together or not at all.
func (f *fields) together(names ...string) {
	if !slices.ContainsFunc(names, f.has) { // as in most items
		return
	}
	for _, name := range names {
		f.with(name, names...)
	}
}

// pick returns which of some kinds an item is: the first that has its key and all its attributes, or else
// the first that has its key.
func pick(kinds []*kind, it item) *kind {
	hasKey := func(k *kind) bool { return k.parts(keyOf(it)) != nil }
	i := slices.IndexFunc(kinds, func(k *kind) bool { return hasKey(k) && len(k.unknown(it)) == 0 })
	if i < 0 {
		i = slices.IndexFunc(kinds, hasKey)
	}
	return kinds[max(i, 0)]
}

// unknown are the attributes of an item that such a one does not have.
func (k *kind) unknown(it item) (names []string) {
	for name := range it {
		isIt := func(a attribute) bool { return a.name == name }
		if name != "pk" && name != "sk" && !slices.ContainsFunc(k.attributes, isIt) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// reader returns what reads the items of a kind, or of several, separated by commas, into the fields of a T that are called like the
// attributes or the parts of the key, in whatever case; one that is missing or has another form leaves its field zero. The rest of what is
// documented is checked by check.
func reader[T any](names string, check func(*fields, *T)) func(item) (T, string) {
	var kinds []*kind
	for _, all := range described {
		for _, k := range all {
			if slices.Contains(strings.Split(names, ", "), k.name) {
				kinds = append(kinds, k)
			}
		}
	}
	places := map[string][]int{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if field.IsExported() {
			places[strings.ToLower(field.Name)] = field.Index
		}
	}
	fieldOf := map[*kind][][]int{} // of each attribute
	for _, k := range kinds {
		for _, a := range k.attributes {
			fieldOf[k] = append(fieldOf[k], places[strings.ToLower(a.name)])
		}
	}
	return func(it item) (to T, problem string) {
		kind := kinds[0]
		if len(kinds) > 1 {
			kind = pick(kinds, it)
		}
		f, v := &fields{item: it, parts: kind.parts(keyOf(it))}, reflect.ValueOf(&to).Elem()
		f.failIf(f.parts == nil, "its key is not that of such an item")
		for _, part := range f.parts {
			if place := places[part.name]; place != nil {
				setPart(v.FieldByIndex(place), part.name, part.text)
			}
		}
		known := 2 // its key
		for i, a := range kind.attributes {
			stored, there := it[a.name]
			if !there {
				if !a.isOptional {
					f.fail(a.name + " is missing")
				}
				continue
			}
			known++
			value, ok := a.read(stored)
			if !ok {
				f.fail(a.name + " is not " + a.form)
			} else if place := fieldOf[kind][i]; place != nil {
				set(v.FieldByIndex(place), value)
			}
		}
		if known < len(it) {
			f.fail("has attributes that are not documented: " + strings.Join(kind.unknown(it), ", "))
		}
		check(f, &to)
		return to, f.problem
	}
}

// setPart sets a field to a part of a key.
func setPart(field reflect.Value, part, text string) {
	if field.Kind() == reflect.String {
		field.SetString(text)
		return
	}
	base := 10
	if part == "page" {
		base = 16
	}
	n, _ := strconv.ParseInt(text, base, 64) // it has the form
	field.SetInt(n)
}

// set sets a field to a value of an attribute: a time to an instant, and bytes to hexadecimal digits.
func set(field reflect.Value, value any) {
	text, _ := value.(string)
	switch field.Kind() { // most are of these, and need no conversion
	case reflect.String:
		field.SetString(text)
		return
	case reflect.Int, reflect.Int64:
		field.SetInt(value.(int64))
		return
	}
	switch to := field.Addr().Interface().(type) {
	case *time.Time:
		*to = time.UnixMilli(value.(int64)).UTC()
	case **rules.Rank:
		*to = new(rules.Rank)
		_ = (*to).UnmarshalText([]byte(text)) // it has the form
	case *[]byte:
		if b, isBinary := value.([]byte); isBinary {
			*to = b
		} else {
			*to, _ = hex.DecodeString(text) // likewise
		}
	case encoding.TextUnmarshaler:
		_ = to.UnmarshalText([]byte(text)) // likewise
	default:
		field.Set(reflect.ValueOf(value).Convert(field.Type()))
	}
}

// isID reports whether s is a valid id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -.
func isID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// isText reports whether s is printable text of at most that many characters.
func isText(s string, most int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= most &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// areLines is the same for text with line breaks.
func areLines(s string, most int) bool { return isText(strings.ReplaceAll(s, "\n", ""), most) }

func isUser(s string) bool {
	return s != "" && (isText(s, 128) || isText(s, 255) && len(s) == utf8.RuneCountInString(s))
}

// isPayment reports whether s is a payment's id: a provider and its reference.
func isPayment(s string) bool {
	provider, reference, _ := strings.Cut(s, "#")
	return isID(provider) && reference != "" && isText(reference, 200)
}

func areLabels(s string) bool {
	all := strings.Split(s, ",")
	isNone := func(label string) bool {
		return label == "" || !isText(label, 50) || label != strings.TrimSpace(label)
	}
	return len(all) <= 10 && len(s) <= 512 && !slices.ContainsFunc(all, isNone)
}

func isOrder(s string) bool {
	n, err := strconv.ParseUint(s, 10, 63)
	return err == nil && strconv.FormatUint(n, 10) == s && numberOf(n) != 0
}

// isIndex reports whether s is a whole number from 0, with no sign and no leading zero.
func isIndex(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && strconv.Itoa(n) == s
}
