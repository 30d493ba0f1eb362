package dynamotest

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/smithy-go"
)

// The expressions that this project uses: conditions of comparisons, attribute_exists,
// attribute_not_exists, begins_with and size, joined by AND and OR, and updates that set,
// add to, delete from and remove whole attributes. Everything else that DynamoDB knows is
// refused, with the word that stands there and the text around it.

// operand is an attribute, a :value or the size of an attribute.
type operand struct {
	name  string // as written: with its # if it is a placeholder
	value string // with its colon
	size  bool
}

// condition is a node of a condition, nil for none. It is parsed once per text and shared
// by all calls: it holds the placeholders, never what a call put in their place.
type condition struct {
	op          string // AND, OR, a comparator or a function
	parts       []*condition
	left, right operand
}

// terms are the parts of a condition that joins them by AND, or else the condition itself.
func (c *condition) terms() []*condition {
	if c.op == "AND" {
		return c.parts
	}
	return []*condition{c}
}

// assignment is one action of an update. SET assigns left, or left op right with op + or -;
// the value of ADD and DELETE is left.
type assignment struct {
	section     string
	name        string // as written
	left, right operand
	op          string
}

// expression is the expression of a parameter, parsed, and the placeholders it uses, with
// their # or colon.
type expression struct {
	parameter    string
	condition    *condition
	update       []assignment
	placeholders []string
}

// maxExpression is the longest expression DynamoDB reads, in bytes.
const maxExpression = 4096

// parser reads one expression. It panics with a ValidationException, which parseText recovers.
type parser struct {
	text   string
	tokens []string // the last one is "", the end
	at     int
	out    *expression
}

// The parameters that are expressions.
const (
	updateExpression       = "UpdateExpression"
	conditionExpression    = "ConditionExpression"
	filterExpression       = "FilterExpression"
	keyConditionExpression = "KeyConditionExpression"
)

// cache keeps every parsed expression by its parameter and text: a program has a
// handful of them and runs each a million times.
var cache sync.Map // [2]string → cached

type cached struct {
	expression *expression
	err        error
}

// parse reads the expression of a parameter; it is empty if the request has none.
func parse(parameter string, text *string) (*expression, error) {
	if text == nil {
		return &expression{}, nil
	}
	key := [2]string{parameter, *text}
	if hit, ok := cache.Load(key); ok {
		c := hit.(cached)
		return c.expression, c.err
	}
	out, err := parseText(parameter, *text)
	cache.Store(key, cached{out, err})
	return out, err
}

var tokenForm = regexp.MustCompile(`^(?:[#:]?[A-Za-z0-9_]+|<=|>=|[(),=<>+-])`)

func parseText(parameter, text string) (_ *expression, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(*smithy.GenericAPIError) // or else a fault here, which goes on
		}
	}()
	p := &parser{text: text, out: &expression{parameter: parameter}}
	if len(text) > maxExpression {
		p.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	for rest := strings.TrimLeft(text, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		token := tokenForm.FindString(rest)
		if token == "" {
			p.unknown(rest)
		}
		p.tokens = append(p.tokens, token)
		rest = rest[len(token):]
	}
	p.tokens = append(p.tokens, "")
	if parameter == updateExpression {
		p.update()
	} else {
		p.out.condition = p.or()
	}
	if t := p.next(); t != "" {
		p.unknown(t)
	}
	return p.out, nil
}

func (p *parser) fail(format string, args ...any) {
	panic(validation("Invalid "+p.out.parameter+": "+format, args...))
}

// unknown refuses what stands at a place: DynamoDB may know it, or may not.
func (p *parser) unknown(token string) {
	p.fail("dynamotest does not know %q here: %s", cmp.Or(token, "<EOF>"), p.text)
}

func (p *parser) next() string {
	t := p.tokens[p.at]
	if t != "" {
		p.at++
	}
	return t
}

func (p *parser) take(token string) bool {
	if p.tokens[p.at] == token {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(token string) {
	if !p.take(token) {
		p.unknown(p.tokens[p.at])
	}
}

func (p *parser) or() *condition  { return p.joined("OR", p.and) }
func (p *parser) and() *condition { return p.joined("AND", p.term) }

// joined reads conditions with a word between them.
func (p *parser) joined(word string, part func() *condition) *condition {
	first := part()
	if p.tokens[p.at] != word {
		return first
	}
	all := &condition{op: word, parts: []*condition{first}}
	for p.take(word) {
		all.parts = append(all.parts, part())
	}
	return all
}

var comparators = []string{"=", "<=", "<", ">=", ">"}

func (p *parser) term() *condition {
	if p.take("(") {
		inner := p.or()
		p.expect(")")
		return inner
	}
	switch p.tokens[p.at] {
	case "attribute_exists", "attribute_not_exists", "begins_with":
		return p.function(p.next())
	}
	c := &condition{left: p.operand(true), op: p.next()}
	if !slices.Contains(comparators, c.op) {
		p.unknown(c.op)
	}
	c.right = p.operand(true)
	return c
}

// function reads the arguments of a function: an attribute, and of begins_with a value.
func (p *parser) function(name string) *condition {
	p.expect("(")
	c := &condition{op: name, left: operand{name: p.name()}}
	if name == "begins_with" {
		p.expect(",")
		c.right.value = p.value()
	}
	p.expect(")")
	return c
}

func (p *parser) operand(mayBeSize bool) (o operand) {
	switch t := p.tokens[p.at]; {
	case strings.HasPrefix(t, ":"):
		o.value = p.value()
	case mayBeSize && t == "size" && p.tokens[p.at+1] == "(":
		p.at += 2
		o.size, o.name = true, p.name()
		p.expect(")")
	default:
		o.name = p.name()
	}
	return o
}

var (
	nameForm  = regexp.MustCompile(`^(#\w+|[A-Za-z]\w*)$`)
	valueForm = regexp.MustCompile(`^:\w+$`)
)

func (p *parser) name() string {
	t := p.next()
	switch {
	case !nameForm.MatchString(t):
		p.unknown(t)
	case t[0] == '#':
		p.out.placeholders = append(p.out.placeholders, t)
	case reserved(t):
		p.fail("Attribute name is a reserved keyword; reserved keyword: %q in: %s", t, p.text)
	}
	return t
}

// reservedText are the words which DynamoDB does not accept bare as an attribute name, as
// "Reserved Words in DynamoDB" of the Developer Guide lists them, misspellings included.
//
//go:embed reserved.txt
var reservedText string

var reservedWords = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(reservedText) {
		set[word] = true
	}
	return set
}()

// reserved reports whether the name is a reserved word, in any letter case.
func reserved(name string) bool { return reservedWords[strings.ToUpper(name)] }

func (p *parser) value() string {
	t := p.next()
	if !valueForm.MatchString(t) {
		p.unknown(t)
	}
	p.out.placeholders = append(p.out.placeholders, t)
	return t
}

func (p *parser) update() {
	seen := map[string]bool{}
	for first := true; first || p.tokens[p.at] != ""; first = false {
		section := p.next()
		switch {
		case !slices.Contains([]string{"SET", "REMOVE", "ADD", "DELETE"}, section):
			p.unknown(section)
		case seen[section]:
			p.fail("The %q section can only be used once in an update expression;", section)
		}
		seen[section] = true
		for again := true; again; again = p.take(",") {
			p.out.update = append(p.out.update, p.action(section))
		}
	}
}

func (p *parser) action(section string) assignment {
	a := assignment{section: section, name: p.name()}
	switch section {
	case "REMOVE":
		return a
	case "ADD", "DELETE":
		a.left.value = p.value()
		return a
	}
	p.expect("=")
	a.left = p.operand(false)
	if t := p.tokens[p.at]; t == "+" || t == "-" {
		a.op = p.next()
		a.right = p.operand(false)
	}
	return a
}
