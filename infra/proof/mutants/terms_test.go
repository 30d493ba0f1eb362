package mutants

import (
	"cmp"
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
	if strings.HasPrefix(text, "(") {
		return rewritten(termVariants(text[1:len(text)-1]), func(s string) string { return "(" + s + ")" })
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

var clauseWord = regexp.MustCompile(`\b(SET|REMOVE|ADD|DELETE)\b `)

// updateVariants returns an update without each of its assignments in turn. In place of
// its only one it removes an attribute that no item has: a transaction's update needs
// an expression.
func updateVariants(text string) (all []variant) {
	starts := clauseWord.FindAllStringIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		keyword := text[at[0]:at[1]]
		for _, v := range listVariants(strings.TrimSpace(text[at[1]:end])) {
			clause := ""
			if v.text != "" {
				clause = keyword + v.text + " "
			}
			whole := strings.TrimSpace(text[:at[0]] + clause + text[end:])
			all = append(all, variant{"without " + keyword + v.change, cmp.Or(whole, "REMOVE noAttribute")})
		}
	}
	return all
}

// listVariants returns a list without each of its parts in turn, which are the changes.
func listVariants(list string) (all []variant) {
	parts := split(list, ", ")
	for i, part := range parts {
		all = append(all, variant{part, strings.Join(slices.Delete(slices.Clone(parts), i, i+1), ", ")})
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
		for _, v := range termVariants(m[4]) {
			if !keyTerm.MatchString(strings.TrimPrefix(v.change, "without ")) {
				all = append(all, variant{v.change, m[1] + m[2] + m[3] + v.text})
			}
		}
		for _, v := range listVariants(m[2]) {
			_, value, _ := strings.Cut(v.change, " = ")
			all = append(all, variant{"without SET " + v.change, m[1] + cmp.Or(v.text, "noAttribute = "+value) + m[3] + m[4]})
		}
	} else if m := insertStatement.FindStringSubmatch(text); m != nil {
		for _, v := range listVariants(m[2]) {
			if !keyTerm.MatchString(v.change) {
				all = append(all, variant{"without " + v.change, m[1] + v.text + m[3]})
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
