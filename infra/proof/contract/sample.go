package contract

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// most bounds how often an unbounded repetition is drawn.
const most = 8

// sample draws a text that matches a pattern. A third of the repetitions have the
// minimum length and a third the maximum: mistakes are most likely at limits.
func sample(pattern string, r *rand.Rand) (string, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("read pattern: %w", err)
	}
	var b strings.Builder
	if err := draw(&b, tree, r); err != nil {
		return "", fmt.Errorf("sample %s: %w", pattern, err)
	}
	return b.String(), nil
}

func draw(b *strings.Builder, tree *syntax.Regexp, r *rand.Rand) error {
	switch tree.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return nil
	case syntax.OpLiteral:
		b.WriteString(string(tree.Rune))
		return nil
	case syntax.OpCharClass:
		b.WriteRune(fromClass(tree.Rune, r))
		return nil
	case syntax.OpConcat, syntax.OpCapture:
		return repeat(b, tree.Sub, 1, r)
	case syntax.OpAlternate:
		return draw(b, tree.Sub[r.IntN(len(tree.Sub))], r)
	case syntax.OpStar:
		return repeat(b, tree.Sub, times(0, most, r), r)
	case syntax.OpPlus:
		return repeat(b, tree.Sub, times(1, most, r), r)
	case syntax.OpQuest:
		return repeat(b, tree.Sub, times(0, 1, r), r)
	case syntax.OpRepeat:
		limit := tree.Max
		if limit < 0 {
			limit = tree.Min + most
		}
		return repeat(b, tree.Sub, times(tree.Min, limit, r), r)
	}
	return fmt.Errorf("%s cannot be drawn", tree.Op)
}

func repeat(b *strings.Builder, trees []*syntax.Regexp, times int, r *rand.Rand) error {
	for range times {
		for _, tree := range trees {
			if err := draw(b, tree, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func times(least, limit int, r *rand.Rand) int {
	switch r.IntN(3) {
	case 0:
		return least
	case 1:
		return limit
	}
	return least + r.IntN(limit-least+1)
}

// fromClass draws from ranges, given as pairs.
func fromClass(ranges []rune, r *rand.Rand) rune {
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		n += int(ranges[i+1]-ranges[i]) + 1
	}
	n = r.IntN(n)
	for i := 0; ; i += 2 {
		size := int(ranges[i+1]-ranges[i]) + 1
		if n < size {
			return ranges[i] + rune(n)
		}
		n -= size
	}
}
