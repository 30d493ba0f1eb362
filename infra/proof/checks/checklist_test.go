package checks

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const checklistFile = "infra/proof/checks/CHECKLIST.md"

// linted is the row that lint.sh checks.
const linted, lastRow = 1, 20

var (
	checklistRow = regexp.MustCompile(`^\| (\d+) \| ([^|]+) \| ([^|]+) \|$`)
	namedRow     = regexp.MustCompile(`"row (\d+): `)
)

// ruledRows returns the rows named by a rule of this package's tests: the field of a
// rule, or a subtest.
func ruledRows(t *testing.T) map[int]bool {
	t.Helper()
	rows := map[int]bool{}
	for _, s := range sources(t) {
		if s.dir() != "infra/proof/checks" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok && isName(field.Key, "row") {
				if value, ok := field.Value.(*ast.BasicLit); ok {
					row, err := strconv.Atoi(value.Value)
					if err != nil {
						t.Errorf("%s: %v", s.path, err)
					}
					rows[row] = true
				}
			}
			return true
		})
		for _, m := range namedRow.FindAllStringSubmatch(s.text, -1) {
			row, _ := strconv.Atoi(m[1])
			rows[row] = true
		}
	}
	return rows
}

func TestEveryRowOfTheChecklistIsKept(t *testing.T) {
	ruled := ruledRows(t)
	next := 1
	for i, line := range strings.Split(read(t, checklistFile), "\n") {
		m := checklistRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		place := fmt.Sprintf("%s:%d", checklistFile, i+1)
		row, err := strconv.Atoi(m[1])
		if err != nil || row != next {
			t.Errorf("%s: row %s, want %d", place, m[1], next)
		}
		next++
		if !ruled[row] {
			t.Errorf("%s: no rule keeps row %d", place, row)
		}
		if row == linted && !strings.Contains(m[3], "lint.sh") {
			t.Errorf("%s: row %d is kept by the linter, too", place, row)
		}
		for _, q := range quotesOf(m[3]) {
			if strings.HasSuffix(q.text, "_test.go") && !ruledIn(t, q.text, row) {
				t.Errorf("%s: %s has no rule for row %d", place, q.text, row)
			}
		}
	}
	if next != lastRow+1 {
		t.Errorf("%s has %d rows, want %d", checklistFile, next-1, lastRow)
	}
	for row := range ruled {
		if row < 1 || row > lastRow {
			t.Errorf("a rule keeps row %d, which is not in %s", row, checklistFile)
		}
	}
}

// ruledIn reports whether a test file has a rule for the row.
func ruledIn(t *testing.T, file string, row int) bool {
	t.Helper()
	text := read(t, file)
	field := regexp.MustCompile(fmt.Sprintf(`\brow:\s+%d,`, row))
	return field.MatchString(text) || strings.Contains(text, fmt.Sprintf(`"row %d: `, row))
}
