package dynamotest

import "strings"

func parseUpdateText(p *parser) error {
	u := &update{}
	p.out.update = u
	seen := map[string]bool{}
	for p.peek().kind != tokenEnd {
		t := p.next()
		section := strings.ToUpper(t.text)
		if t.kind != tokenWord {
			return unexpected(t)
		}
		var err error
		switch section {
		case "SET":
			u.set, err = p.actions(p.setAction)
		case "REMOVE":
			u.remove, err = p.actions(p.removeAction)
		case "ADD":
			u.add, err = p.actions(p.valueAction)
		case "DELETE":
			u.delete, err = p.actions(p.valueAction)
		default:
			return unexpected(t)
		}
		if err != nil {
			return err
		}
		if seen[section] {
			return syntaxError("The \"" + section + "\" section can only be used once in an update expression;")
		}
		seen[section] = true
	}
	return nil
}

func (p *parser) actions(one func() (assignment, error)) ([]assignment, error) {
	var all []assignment
	for {
		a, err := one()
		if err != nil {
			return nil, err
		}
		if all = append(all, a); !p.take(",") {
			return all, nil
		}
	}
}

func (p *parser) setAction() (assignment, error) {
	target, err := p.path()
	if err != nil {
		return assignment{}, err
	}
	if err := p.expect("="); err != nil {
		return assignment{}, err
	}
	a := assignment{target: target}
	grouped := p.take("(")
	if a.left, err = p.operand(); err != nil {
		return assignment{}, err
	}
	for _, op := range []string{"+", "-"} {
		if p.take(op) {
			a.op = op
			if a.right, err = p.operand(); err != nil {
				return assignment{}, err
			}
			break
		}
	}
	if grouped {
		err = p.expect(")")
	}
	return a, err
}

func (p *parser) removeAction() (assignment, error) {
	target, err := p.path()
	return assignment{target: target}, err
}

func (p *parser) valueAction() (assignment, error) {
	target, err := p.path()
	if err != nil {
		return assignment{}, err
	}
	t := p.next()
	if t.kind != tokenValue {
		return assignment{}, unexpected(t)
	}
	p.out.values = append(p.out.values, t.text)
	return assignment{target: target, left: operand{value: t.text}}, nil
}
