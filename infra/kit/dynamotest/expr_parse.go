package dynamotest

import (
	"fmt"
	"strconv"
	"sync"
)

// maxNesting bounds the parser's recursion.
const maxNesting = 150

// parser reads one expression. The first error ends it.
type parser struct {
	tokens []token
	at     int
	depth  int
	out    *parsed
	// partiQL admits what only a statement's condition may say: IS MISSING.
	partiQL bool
}

// cache keeps every parsed expression by its grammar and text: a program has a
// handful of them and runs each a million times.
var cache sync.Map // cacheKey → cached

type cacheKey struct{ grammar, text string }

type cached struct {
	parsed *parsed
	err    error
}

func parseCached(grammar, text string, parse func(*parser) error) (*parsed, error) {
	key := cacheKey{grammar, text}
	if hit, ok := cache.Load(key); ok {
		c := hit.(cached)
		return c.parsed, c.err
	}
	out, err := parseText(text, parse)
	cache.Store(key, cached{out, err})
	return out, err
}

func parseText(text string, parse func(*parser) error) (*parsed, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, out: &parsed{}}
	if err := parse(p); err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, unexpected(t)
	}
	return p.out, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

func (p *parser) take(symbol string) bool {
	if p.peek().is(symbol) {
		p.at++
		return true
	}
	return false
}

func (p *parser) takeKeyword(word string) bool {
	if p.peek().keyword(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(symbol string) error {
	if !p.take(symbol) {
		return unexpected(p.peek())
	}
	return nil
}

// enter counts one level of nesting; leave it with p.depth--.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return syntaxError("The expression contains too many nested levels")
	}
	return nil
}

func parseConditionText(p *parser) (err error) {
	p.out.condition, err = p.or()
	return err
}

func (p *parser) or() (condition, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	left, err := p.and()
	for err == nil && p.takeKeyword("OR") {
		var right condition
		right, err = p.and()
		left = logical{"OR", left, right}
	}
	return left, err
}

func (p *parser) and() (condition, error) {
	left, err := p.not()
	for err == nil && p.takeKeyword("AND") {
		var right condition
		right, err = p.not()
		left = logical{"AND", left, right}
	}
	return left, err
}

func (p *parser) not() (condition, error) {
	if !p.takeKeyword("NOT") {
		return p.primary()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	inner, err := p.not()
	return logical{"NOT", inner, nil}, err
}

func (p *parser) primary() (condition, error) {
	if p.take("(") {
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		if _, twice := inner.(group); twice {
			return nil, syntaxError("The expression has redundant parentheses;")
		}
		return group{inner}, p.expect(")")
	}
	if t := p.peek(); t.kind == tokenWord && p.tokens[p.at+1].is("(") && t.text != "size" {
		return p.test()
	}
	return p.comparison()
}

// conditionArgs are the functions that are conditions, and their arguments.
var conditionArgs = map[string]int{
	"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2,
}

func (p *parser) test() (condition, error) {
	function := p.next().text
	if _, ok := conditionArgs[function]; !ok {
		return nil, syntaxError("Invalid function name; function: " + function)
	}
	args, err := p.arguments(function, conditionArgs[function])
	return test{function, args}, err
}

func (p *parser) arguments(function string, want int) ([]operand, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []operand
	for {
		arg, err := p.operand()
		if err != nil {
			return nil, err
		}
		if args = append(args, arg); !p.take(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(args) != want {
		return nil, syntaxError(fmt.Sprintf(
			"Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, len(args)))
	}
	return args, nil
}

var comparators = []string{"=", "<>", "<=", "<", ">=", ">"}

func (p *parser) comparison() (condition, error) {
	first, err := p.operand()
	if err != nil {
		return nil, err
	}
	for _, op := range comparators {
		if p.take(op) {
			second, err := p.operand()
			return comparison{op, []operand{first, second}}, err
		}
	}
	switch {
	case p.partiQL && p.takeKeyword("IS"):
		return p.missing(first)
	case p.takeKeyword("BETWEEN"):
		low, err := p.operand()
		if err != nil {
			return nil, err
		}
		if !p.takeKeyword("AND") {
			return nil, unexpected(p.peek())
		}
		high, err := p.operand()
		return comparison{"BETWEEN", []operand{first, low, high}}, err
	case p.takeKeyword("IN"):
		operands := []operand{first}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		for {
			candidate, err := p.operand()
			if err != nil {
				return nil, err
			}
			if operands = append(operands, candidate); !p.take(",") {
				break
			}
		}
		if len(operands) > 101 {
			return nil, syntaxError("The IN operator is provided with too many operands; number of operands: " + strconv.Itoa(len(operands)-1))
		}
		return comparison{"IN", operands}, p.expect(")")
	}
	return nil, unexpected(p.peek())
}
