package browser

import (
	"os"
	"path/filepath"
)

// Axe examines the page with axe-core and fails the test for each barrier that it finds.
func (t *Tab) Axe() {
	t.tb.Helper()
	script, err := os.ReadFile(filepath.Join(Folder(t.browser.root), "node_modules", "axe-core", "axe.min.js"))
	t.must("find axe-core (make browser installs it)", err)
	if !Eval[bool](t, "!!window.axe") {
		Eval[bool](t, string(script)+";true")
	}
	type result struct {
		Passes   int
		Findings []string
	}
	// The headless browser paints with few colours of its own, and colours are examined
	// as they are computed. What axe cannot decide counts as a finding.
	found := Eval[result](t, `axe.run(document).then((r) => ({
		passes: r.passes.length,
		findings: [...r.violations, ...r.incomplete].flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html + ": " + n.failureSummary)),
	}))`)
	if found.Passes == 0 {
		t.tb.Error("axe-core examined nothing")
	}
	for _, finding := range found.Findings {
		t.tb.Errorf("axe-core: %s", finding)
	}
}
