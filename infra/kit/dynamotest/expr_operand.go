package dynamotest

import (
	"strconv"
	"strings"
)

// operandArgs are the functions that are operands, and their arguments.
var operandArgs = map[string]int{"size": 1, "if_not_exists": 2, "list_append": 2}

func (p *parser) operand() (operand, error) {
	t := p.peek()
	switch {
	case t.kind == tokenValue:
		p.out.values = append(p.out.values, t.text)
		return operand{value: p.next().text}, nil
	case t.kind == tokenWord && p.tokens[p.at+1].is("("):
		want, ok := operandArgs[t.text]
		if !ok {
			return operand{}, syntaxError("Invalid function name; function: " + t.text)
		}
		if err := p.enter(); err != nil {
			return operand{}, err
		}
		defer func() { p.depth-- }()
		args, err := p.arguments(p.next().text, want)
		return operand{call: t.text, args: args}, err
	}
	at, err := p.path()
	return operand{path: at}, err
}

func (p *parser) path() (path, error) {
	first, err := p.name()
	if err != nil {
		return nil, err
	}
	out := path{first}
	for {
		switch {
		case p.take("."):
			s, err := p.name()
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		case p.take("["):
			t := p.next()
			index, err := strconv.ParseInt(t.text, 10, 32)
			if t.kind != tokenIndex || err != nil {
				return nil, unexpected(t)
			}
			out = append(out, step{index: int(index)})
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		default:
			return out, nil
		}
	}
}

func (p *parser) name() (step, error) {
	switch t := p.next(); {
	case t.kind == tokenName:
		p.out.names = append(p.out.names, t.text)
		return step{name: t.text}, nil
	case t.kind == tokenWord && strings.HasPrefix(t.text, "_"):
		return step{}, unexpected(t) // a bare name begins with a letter
	case t.kind == tokenWord && reserved(t.text):
		return step{}, syntaxError("Attribute name is a reserved keyword; reserved keyword: " + t.text)
	case t.kind == tokenWord:
		return step{name: t.text}, nil
	default:
		return step{}, unexpected(t)
	}
}

func parseProjectionText(p *parser) error {
	for {
		at, err := p.path()
		if err != nil {
			return err
		}
		if p.out.projection = append(p.out.projection, at); !p.take(",") {
			return nil
		}
	}
}
