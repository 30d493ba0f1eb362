package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/sale"
)

func TestTheSameProgramGivesTheSameZip(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, made := filepath.Join(folder, "bootstrap"), [2][]byte{}
	for i := range made {
		targettest.File(t, program, "a program")
		err := errors.Join(os.Chmod(program, os.FileMode(0o600+i*0o155)), os.Chtimes(program, time.Time{}, time.Unix(int64(i)*1e9, 0)), zipped(program, filepath.Join(folder, "zip")))
		if err == nil {
			made[i], err = os.ReadFile(filepath.Join(folder, "zip"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("the zips differ")
	}
}

func TestAReleaseHasTheStorefrontsModulesTheirDigestsAndThePackage(t *testing.T) {
	t.Parallel()
	files, err := storefront(os.DirFS("../../.."))
	names := slices.Sorted(maps.Keys(files))
	if want := []string{"drawrules.js", "element.js", "flashsale-storefront-" + sale.ProgramVersion + ".tgz", "flashsale.js", "storefront-integrity.json"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
}

func TestNoReleaseIsMadeOfATreeThatNobodyCouldFindAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	git := func(words ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=t", "-c", "user.email=t@t.example"}, words...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
	}
	refused := func(says, tag string) {
		t.Helper()
		err := releasable(context.Background(), folder, tag)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	changelog := filepath.Join(folder, "infra/docs/CHANGELOG.md")
	targettest.File(t, changelog, "# Changelog\n\n## 0.0.1 - 2026-11-11: x\n")
	refused("no git clone", "")
	git("init", "-q")
	refused("1 files are not committed, such as ?? infra/", "")
	git("add", "-A")
	git("commit", "-qm", "x")
	refused("CHANGELOG.md has no section of "+sale.ProgramVersion, "")
	targettest.File(t, changelog, "# Changelog\n\n## "+sale.ProgramVersion+" - 2026-11-11: x\n")
	git("commit", "-qam", "x")
	refused("", "")
	refused("the tag is v0.0.1, but shared/sale/version.go says", "v0.0.1")
	git("tag", "-am", "x", "v"+sale.ProgramVersion)
	refused("", "v"+sale.ProgramVersion)
	git("commit", "-q", "--allow-empty", "-m", "y")
	refused("is released: another commit has the tag", "")
}
