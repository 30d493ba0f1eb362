package dynamotest

// keyRange is what a KeyConditionExpression asks for: one partition and a
// condition on the sort key, nil for all of it.
type keyRange struct {
	pk string
	sk condition
}

func notSupported() error { return syntaxError("Query key condition not supported") }

// keyRange reads a key condition: pk = :v, alone or AND one test of the sort key.
func (s *scope) keyRange(t *table, c condition) (keyRange, error) {
	var out keyRange
	found := false
	for _, part := range conjuncts(c) {
		name, args, equals, err := s.keyTest(part)
		if err != nil {
			return keyRange{}, err
		}
		for _, value := range args {
			text, isString := stringOf(s.values[value])
			if !isString {
				return keyRange{}, validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
			}
			if text == "" {
				return keyRange{}, validation("One or more parameter values are not valid. A value specified for a key attribute is empty. Key: %s", name)
			}
		}
		switch {
		case name == t.PK && equals && !found:
			out.pk, _ = stringOf(s.values[args[0]])
			found = true
		case name == t.SK && t.SK != "" && out.sk == nil:
			out.sk = part
		default:
			return keyRange{}, notSupported()
		}
	}
	if !found {
		return keyRange{}, validation("Query condition missed key schema element: %s", t.PK)
	}
	return out, nil
}

// conjuncts takes a condition apart at its ANDs.
func conjuncts(c condition) []condition {
	switch c := c.(type) {
	case group:
		return conjuncts(c.inner)
	case logical:
		if c.op == "AND" {
			return append(conjuncts(c.left), conjuncts(c.right)...)
		}
	}
	return []condition{c}
}

// keyTest reads one part of a key condition: the attribute, then its values.
func (s *scope) keyTest(c condition) (name string, values []string, equals bool, err error) {
	var operands []operand
	switch c := c.(type) {
	case comparison:
		if c.op == "<>" || c.op == "IN" {
			return "", nil, false, notSupported()
		}
		operands, equals = c.operands, c.op == "="
	case test:
		if c.function != "begins_with" {
			return "", nil, false, notSupported()
		}
		operands = c.args
	default:
		return "", nil, false, notSupported()
	}
	if len(operands[0].path) != 1 {
		return "", nil, false, notSupported()
	}
	for _, o := range operands[1:] {
		if o.value == "" {
			return "", nil, false, notSupported()
		}
		values = append(values, o.value)
	}
	return s.name(operands[0].path[0].name), values, equals, nil
}

// topNames are the attributes a condition looks at.
func (s *scope) topNames(c condition) []string {
	var names []string
	var walk func(operand)
	walk = func(o operand) {
		if len(o.path) > 0 {
			names = append(names, s.name(o.path[0].name))
		}
		for _, arg := range o.args {
			walk(arg)
		}
	}
	switch c := c.(type) {
	case group:
		return s.topNames(c.inner)
	case logical:
		return append(s.topNames(c.left), s.topNames(c.right)...)
	case comparison:
		for _, o := range c.operands {
			walk(o)
		}
	case test:
		for _, o := range c.args {
			walk(o)
		}
	}
	return names
}
