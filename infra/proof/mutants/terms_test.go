package mutants

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variant is an expression with one change.
type variant struct {
	change string // in words
	text   string // "" means no expression
}

// conditionVariants returns a condition without each of its terms in turn, and with
// each bound moved by one. It panics on BETWEEN, which it cannot split.
func conditionVariants(text string) []variant {
	if strings.Contains(text, "BETWEEN") {
		panic("BETWEEN is not supported: " + text)
	}
	return append(termVariants(text), variant{"without " + text, ""})
}

// termVariants returns the changes after which the condition is not empty.
func termVariants(text string) []variant {
	if inner, ok := strings.CutPrefix(text, "("); ok && closes(text) {
		inner = inner[:len(inner)-1]
		return rewritten(termVariants(inner), func(s string) string { return "(" + s + ")" })
	}
	for _, operator := range []string{" OR ", " AND "} { // OR binds less
		terms := split(text, operator)
		if len(terms) == 1 {
			continue
		}
		var all []variant
		for i, term := range terms {
			with := func(s ...string) string {
				return strings.Join(slices.Replace(slices.Clone(terms), i, i+1, s...), operator)
			}
			all = append(all, variant{"without " + term, with()})
			all = append(all, rewritten(termVariants(term), func(s string) string { return with(s) })...)
		}
		return all
	}
	bound := boundForm.FindStringSubmatch(text)
	if bound == nil {
		return nil
	}
	other := bound[1] + " " + map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[bound[2]] + " " + bound[3]
	return []variant{{"with " + other, other}}
}

var boundForm = regexp.MustCompile(`^(\S+) (<=|<|>=|>) (\S+)$`)

func rewritten(all []variant, f func(string) string) []variant {
	for i := range all {
		all[i].text = f(all[i].text)
	}
	return all
}

// split splits a text at separators outside parentheses and braces.
func split(text, separator string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		}
		if depth == 0 && strings.HasPrefix(text[i:], separator) {
			parts = append(parts, text[start:i])
			start = i + len(separator)
		}
	}
	return append(parts, text[start:])
}

// closes reports whether the text's first parenthesis closes at its very end.
func closes(text string) bool {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		}
	}
	return false
}

var clauseWord = regexp.MustCompile(`\b(SET|REMOVE|ADD|DELETE)\b `)

// updateVariants returns an update without each of its assignments in turn. In place of
// its only one it removes an attribute that no item has: a transaction's update needs
// an expression.
func updateVariants(text string) []variant {
	var clauses [][]string // a keyword, then its assignments
	starts := clauseWord.FindAllStringIndex(text, -1)
	for i, start := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		keyword := strings.TrimSpace(text[start[0]:start[1]])
		clauses = append(clauses, append([]string{keyword}, split(strings.TrimSpace(text[start[1]:end]), ", ")...))
	}
	var all []variant
	for c := range clauses {
		for a := 1; a < len(clauses[c]); a++ {
			var left []string
			for i, clause := range clauses {
				if i == c {
					clause = slices.Delete(slices.Clone(clause), a, a+1)
				}
				if len(clause) > 1 {
					left = append(left, clause[0]+" "+strings.Join(clause[1:], ", "))
				}
			}
			if left == nil {
				left = []string{"REMOVE noAttribute"}
			}
			all = append(all, variant{"without " + clauses[c][0] + " " + clauses[c][a], strings.Join(left, " ")})
		}
	}
	return all
}

var (
	updateStatement = regexp.MustCompile(`^(UPDATE "[^"]+" SET )(.+)( WHERE )(.+)$`)
	insertStatement = regexp.MustCompile(`^(INSERT INTO "[^"]+" VALUE \{)(.+)(\})$`)
	keyTerm         = regexp.MustCompile(`^(pk|sk) = |^'(pk|sk)': `)
	parameter       = regexp.MustCompile(`\?(\d*)`)
)

// statementVariants returns a PartiQL statement without each term and assignment that
// its key does not need. Parameters are followed by their position, as in ?0, to
// identify the remaining ones.
func statementVariants(text string) []variant {
	n := -1
	text = parameter.ReplaceAllStringFunc(text, func(string) string { n++; return fmt.Sprintf("?%d", n) })
	var all []variant
	if m := updateStatement.FindStringSubmatch(text); m != nil {
		set, where := m[2], m[4]
		for _, v := range termVariants(where) {
			if keyTerm.MatchString(strings.TrimPrefix(v.change, "without ")) {
				continue
			}
			all = append(all, variant{v.change, m[1] + set + m[3] + v.text})
		}
		assignments := split(set, ", ")
		for i, a := range assignments {
			left := strings.Join(slices.Delete(slices.Clone(assignments), i, i+1), ", ")
			if left == "" {
				_, value, _ := strings.Cut(a, " = ")
				left = "noAttribute = " + value
			}
			all = append(all, variant{"without SET " + a, m[1] + left + m[3] + where})
		}
	} else if m := insertStatement.FindStringSubmatch(text); m != nil {
		fields := split(m[2], ", ")
		for i, f := range fields {
			if !keyTerm.MatchString(f) {
				all = append(all, variant{"without " + f, m[1] + strings.Join(slices.Delete(slices.Clone(fields), i, i+1), ", ") + m[3]})
			}
		}
	} else {
		panic("a statement that is neither UPDATE nor INSERT: " + text)
	}
	for i := range all {
		all[i].change = parameter.ReplaceAllString(all[i].change, "?")
	}
	return all
}
