package checks

import (
	"regexp"
	"strings"
	"testing"
)

// The go line of go.mod is the least version that the code needs; releases are built with the patch of the
// toolchain line. setup-go takes that from its version 6 on, unless GOTOOLCHAIN is set.
func TestReleasesAreBuiltWithTheNewestPatchThatGoModNames(t *testing.T) {
	line := regexp.MustCompile(`(?m)^toolchain go\S+$`)
	if named, inLab := line.FindString(read(t, "go.mod")), line.FindString(read(t, "infra/lab/go.mod")); named == "" || named != inLab {
		t.Errorf("go.mod names %q, the lab's %q", named, inLab)
	}
	step := regexp.MustCompile(`uses: actions/setup-go@[0-9a-f]{40} # v(?:[6-9]|\d\d)\S*\n +with:\n +go-version-file: go\.mod\n`)
	for _, name := range []string{"ci", "deploy", "nightly", "platforms", "release"} {
		text := read(t, ".github/workflows/"+name+".yml")
		if n := strings.Count(text, "setup-go"); n == 0 || len(step.FindAllString(text, -1)) != n || strings.Contains(text, "GOTOOLCHAIN") {
			t.Errorf("%s.yml: Go may come from elsewhere than go.mod's toolchain line", name)
		}
	}
}
