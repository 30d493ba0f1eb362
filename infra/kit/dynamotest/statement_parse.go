package dynamotest

import (
	"strings"
	"sync"
)

// verb is what a statement does.
type verb string

const (
	verbInsert verb = "INSERT"
	verbUpdate verb = "UPDATE"
	verbSelect verb = "SELECT"
)

// statement is a PartiQL statement, parsed once per text. Of PartiQL there are
// INSERT and UPDATE of one item and SELECT by the whole key; everything else is
// refused as if it were malformed.
type statement struct {
	verb       verb
	table      string
	fields     []assignment // of INSERT: one-step targets
	update     *update      // of UPDATE
	projection []path       // of SELECT, nil for *
	where      []condition  // the parts of WHERE that AND ties together
	names      map[string]string
	literals   item
	parameters int
}

// statements keeps every parsed statement by its text, as cache keeps
// expressions.
var statements sync.Map // string → parsedStatement

type parsedStatement struct {
	statement *statement
	err       error
}

func statementCached(text string) (*statement, error) {
	if hit, ok := statements.Load(text); ok {
		p := hit.(parsedStatement)
		return p.statement, p.err
	}
	s, err := parseStatement(text)
	statements.Store(text, parsedStatement{s, err})
	return s, err
}

// parseStatement reads a statement; what it returns is unusable with an error.
func parseStatement(text string) (*statement, error) {
	l, err := lexStatement(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: l.tokens, out: &parsed{}, partiQL: true}
	s := &statement{literals: l.literals, parameters: l.parameters, names: map[string]string{}}
	switch t := p.next(); {
	case t.keyword("INSERT"):
		s.verb = verbInsert
		err = s.parseInsert(p)
	case t.keyword("UPDATE"):
		s.verb = verbUpdate
		err = s.parseUpdate(p)
	case t.keyword("SELECT"):
		s.verb = verbSelect
		err = s.parseSelect(p)
	default:
		err = unexpected(t)
	}
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, unexpected(t)
	}
	for _, name := range p.out.names {
		s.names[name] = name[1:]
	}
	return s, nil
}

func (s *statement) parseTable(p *parser) error {
	t := p.next()
	if t.kind != tokenName && t.kind != tokenWord {
		return unexpected(t)
	}
	s.table = strings.TrimPrefix(t.text, "#")
	return nil
}

func (p *parser) expectKeywords(words ...string) error {
	for _, word := range words {
		if !p.takeKeyword(word) {
			return unexpected(p.peek())
		}
	}
	return nil
}

// parseInsert reads INTO "T" VALUE {'name': value, …}.
func (s *statement) parseInsert(p *parser) error {
	if err := p.expectKeywords("INTO"); err != nil {
		return err
	}
	if err := s.parseTable(p); err != nil {
		return err
	}
	if err := p.expectKeywords("VALUE"); err != nil {
		return err
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for {
		t := p.next()
		name, isText := stringOf(s.literals[t.text])
		if t.kind != tokenValue || !isText || name == "" || seen[name] {
			return unexpected(t)
		}
		seen[name] = true
		if err := p.expect(":"); err != nil {
			return err
		}
		v := p.next()
		if v.kind != tokenValue {
			return unexpected(v)
		}
		s.fields = append(s.fields, assignment{target: path{{name: name}}, left: operand{value: v.text}})
		if !p.take(",") {
			return p.expect("}")
		}
	}
}

// parseUpdate reads "T" SET path = value, … WHERE condition. One SET with
// commas is the only spelling of several assignments that every engine knows.
func (s *statement) parseUpdate(p *parser) (err error) {
	if err := s.parseTable(p); err != nil {
		return err
	}
	if err := p.expectKeywords("SET"); err != nil {
		return err
	}
	s.update = &update{}
	if s.update.set, err = p.actions(p.setAction); err != nil {
		return err
	}
	return s.parseWhere(p)
}

// parseSelect reads * or paths, then FROM "T" WHERE condition.
func (s *statement) parseSelect(p *parser) error {
	if !p.take("*") {
		if err := parseProjectionText(p); err != nil {
			return err
		}
		s.projection = p.out.projection
	}
	if err := p.expectKeywords("FROM"); err != nil {
		return err
	}
	if err := s.parseTable(p); err != nil {
		return err
	}
	return s.parseWhere(p)
}

func (s *statement) parseWhere(p *parser) error {
	if err := p.expectKeywords("WHERE"); err != nil {
		return err
	}
	c, err := p.or()
	if err == nil {
		s.where = conjuncts(c)
	}
	return err
}

// missing reads what follows IS: MISSING or NOT MISSING.
func (p *parser) missing(o operand) (condition, error) {
	function := "attribute_not_exists"
	if p.takeKeyword("NOT") {
		function = "attribute_exists"
	}
	return test{function, []operand{o}}, p.expectKeywords("MISSING")
}
