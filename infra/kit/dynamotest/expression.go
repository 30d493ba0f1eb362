package dynamotest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	grouped     bool // in parentheses
}

// assignment is one action of an update. SET assigns left, or left op right with op + or -;
// the value of ADD and DELETE is left.
type assignment struct {
	section     string
	name        string // of the attribute
	left, right operand
	op          string
}

// expression is one expression, parsed, and the placeholders it uses.
type expression struct {
	condition *condition
	update    []assignment
	names     []string // with their #
	values    []string // with their colon
}

// maxExpression is the longest expression DynamoDB reads, in bytes.
const maxExpression = 4096

// syntaxError is what is wrong with the text of an expression. The caller knows
// which expression of which request it is and makes a ValidationException of it.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

// invalid makes the exception out of what is wrong with an expression.
func invalid(parameter string, err error) error {
	var syntax syntaxError
	if errors.As(err, &syntax) {
		return validation("Invalid %s: %s", parameter, string(syntax))
	}
	return err
}

// parser reads one expression. The first error ends it.
type parser struct {
	text   string
	tokens []string // the last one is "", the end
	at     int
	out    *expression
}

// cache keeps every parsed expression by its grammar and text: a program has a
// handful of them and runs each a million times.
var cache sync.Map // [2]string → cached

type cached struct {
	expression *expression
	err        error
}

func parseCached(grammar, text string, parse func(*parser) error) (*expression, error) {
	key := [2]string{grammar, text}
	if hit, ok := cache.Load(key); ok {
		c := hit.(cached)
		return c.expression, c.err
	}
	out, err := parseText(text, parse)
	cache.Store(key, cached{out, err})
	return out, err
}

var tokenForm = regexp.MustCompile(`^(?:[#:]?[A-Za-z0-9_]+|<>|<=|>=|[(),=<>+-])`)

func parseText(text string, parse func(*parser) error) (*expression, error) {
	if len(text) > maxExpression {
		return nil, syntaxError(fmt.Sprintf("Expression size has exceeded the maximum allowed size; expression size: %d", len(text)))
	}
	p := &parser{text: text, out: &expression{}}
	for rest := strings.TrimLeft(text, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		token := tokenForm.FindString(rest)
		if token == "" {
			return nil, p.unknown(rest)
		}
		p.tokens = append(p.tokens, token)
		rest = rest[len(token):]
	}
	p.tokens = append(p.tokens, "")
	if err := parse(p); err != nil {
		return nil, err
	}
	if t := p.next(); t != "" {
		return nil, p.unknown(t)
	}
	return p.out, nil
}

// unknown refuses what stands at a place: DynamoDB may know it, or may not.
func (p *parser) unknown(token string) error {
	if token == "" {
		token = "<EOF>"
	}
	return syntaxError(fmt.Sprintf("dynamotest does not know %q here: %s", token, p.text))
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

func (p *parser) expect(token string) error {
	if !p.take(token) {
		return p.unknown(p.tokens[p.at])
	}
	return nil
}

func parseConditionText(p *parser) (err error) {
	p.out.condition, err = p.or()
	return err
}

func (p *parser) or() (*condition, error)  { return p.joined("OR", p.and) }
func (p *parser) and() (*condition, error) { return p.joined("AND", p.term) }

// joined reads conditions with a word between them.
func (p *parser) joined(word string, part func() (*condition, error)) (*condition, error) {
	first, err := part()
	if err != nil || p.tokens[p.at] != word {
		return first, err
	}
	all := &condition{op: word, parts: []*condition{first}}
	for p.take(word) {
		next, err := part()
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, next)
	}
	return all, nil
}

var comparators = []string{"=", "<>", "<=", "<", ">=", ">"}

func (p *parser) term() (*condition, error) {
	if p.take("(") {
		inner, err := p.or()
		switch {
		case err != nil:
			return nil, err
		case inner.grouped:
			return nil, syntaxError("The expression has redundant parentheses;")
		}
		inner.grouped = true
		return inner, p.expect(")")
	}
	switch function := p.tokens[p.at]; function {
	case "attribute_exists", "attribute_not_exists", "begins_with":
		return p.function(p.next())
	}
	left, err := p.operand(true)
	if err != nil {
		return nil, err
	}
	op := p.next()
	if !slices.Contains(comparators, op) {
		return nil, p.unknown(op)
	}
	right, err := p.operand(true)
	return &condition{op: op, left: left, right: right}, err
}

// function reads the arguments of a function: an attribute, and of begins_with a value.
func (p *parser) function(name string) (*condition, error) {
	c := &condition{op: name}
	err := p.expect("(")
	if err == nil {
		c.left.name, err = p.name()
	}
	if err == nil && name == "begins_with" {
		if err = p.expect(","); err == nil {
			c.right.value, err = p.value()
		}
	}
	if err == nil {
		err = p.expect(")")
	}
	return c, err
}

func (p *parser) operand(mayBeSize bool) (o operand, err error) {
	switch t := p.tokens[p.at]; {
	case strings.HasPrefix(t, ":"):
		o.value, err = p.value()
	case mayBeSize && t == "size" && p.tokens[p.at+1] == "(":
		p.at += 2
		o.size = true
		if o.name, err = p.name(); err == nil {
			err = p.expect(")")
		}
	default:
		o.name, err = p.name()
	}
	return o, err
}

var (
	nameForm  = regexp.MustCompile(`^(#\w+|[A-Za-z]\w*)$`)
	valueForm = regexp.MustCompile(`^:\w+$`)
)

func (p *parser) name() (string, error) {
	t := p.next()
	switch {
	case !nameForm.MatchString(t):
		return "", p.unknown(t)
	case t[0] == '#':
		p.out.names = append(p.out.names, t)
	case reserved(t):
		return "", syntaxError(fmt.Sprintf("Attribute name is a reserved keyword; reserved keyword: %q in: %s", t, p.text))
	}
	return t, nil
}

func (p *parser) value() (string, error) {
	t := p.next()
	if !valueForm.MatchString(t) {
		return "", p.unknown(t)
	}
	p.out.values = append(p.out.values, t)
	return t, nil
}

func parseUpdateText(p *parser) error {
	seen := map[string]bool{}
	for first := true; first || p.tokens[p.at] != ""; first = false {
		section := p.next()
		switch {
		case !slices.Contains([]string{"SET", "REMOVE", "ADD", "DELETE"}, section):
			return p.unknown(section)
		case seen[section]:
			return syntaxError("The \"" + section + "\" section can only be used once in an update expression;")
		}
		seen[section] = true
		for {
			a, err := p.action(section)
			if err != nil {
				return err
			}
			if p.out.update = append(p.out.update, a); !p.take(",") {
				break
			}
		}
	}
	return nil
}

func (p *parser) action(section string) (a assignment, err error) {
	a.section = section
	if a.name, err = p.name(); err != nil {
		return a, err
	}
	switch section {
	case "REMOVE":
		return a, nil
	case "ADD", "DELETE":
		a.left.value, err = p.value()
		return a, err
	}
	if err := p.expect("="); err != nil {
		return a, err
	}
	if a.left, err = p.operand(false); err != nil {
		return a, err
	}
	if p.take("+") {
		a.op = "+"
	} else if p.take("-") {
		a.op = "-"
	} else {
		return a, nil
	}
	a.right, err = p.operand(false)
	return a, err
}
