package checks

import (
	"path"
	"strings"
	"testing"
)

// weights are the most lines of Go that each part may have. Who adds a feature raises the product's by
// what it adds, and those around it by at most that, in the commit that adds it, with a line in the changelog that says
// what for.
// Packages that only tests use, as clocktest, are tests.
var weights = []struct {
	part, folders string // of a folder with + its tests alone, of one with - all but its tests
	most          int
}{
	{"the product", "-functions -shared", 31_980},
	{"its tests", "+functions +shared", 19_280},
	{"the ledger's suite", "infra/proof/ledgertest", 9_890},
	{"simulation and enumeration", "infra/proof/explore infra/proof/harness", 7_380},
	{"the running system", "infra/proof/system infra/proof/handlers", 3_110},
	{"contract", "infra/proof/contract", 1_920},
	{"browser", "infra/proof/browser", 5_600},
	{"checks", "infra/proof/checks", 2_890},
	{"mutants", "infra/proof/mutants", 620},
	{"benchmarks and clients", "infra/proof/bench infra/proof/clients", 1_280},
	{"kit", "infra/kit", 16_030},
	{"local stack", "infra/local", 13_570},
	{"operators' tools", "infra/ops", 19_060},
	{"lab", "infra/lab", 6_260},
}

func TestNoPartOutgrowsItsWeight(t *testing.T) {
	all := sources(t)
	for _, w := range weights {
		lines := 0
		for _, s := range all {
			for folder := range strings.FieldsSeq(w.folders) {
				tests, others := folder[0] != '-', folder[0] != '+'
				isTest := s.isTest() || strings.HasSuffix(path.Dir(s.path), "test")
				if strings.HasPrefix(s.path, strings.Trim(folder, "+-")+"/") && (tests && isTest || others && !isTest) {
					lines += s.fset.File(s.ast.FileStart).LineCount()
				}
			}
		}
		if most := w.most * 102 / 100; lines > most || lines == 0 {
			t.Errorf("%s: %d lines of Go, want at most %d", w.part, lines, most)
		}
	}
}
