package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

// releaseOf writes a release of programs that are only texts.
func releaseOf(t *testing.T) (folder string) {
	t.Helper()
	template, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	built := build(t, nil)
	for _, f := range functions(t, filepath.Join(root, "template.yaml"), nil) {
		if err := zipped(filepath.Join(built, f.id, "bootstrap"), filepath.Join(folder, f.id+".zip")); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(folder, "template.yaml"), string(packagedTemplate(template)))
	list, err := listed(folder)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, sums), string(list))
	return folder
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestAPackagedTemplateDiffersOnlyInWhereItsFilesAre(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	packaged, all := filepath.Join(t.TempDir(), "template.yaml"), functions(t, filepath.Join(root, "template.yaml"), nil)
	text := string(packagedTemplate(own))
	writeFile(t, packaged, text)
	for _, f := range functions(t, packaged, nil) {
		if strings.Count(text, "\n      CodeUri: "+f.id+".zip\n") != 1 {
			t.Errorf("%s has not its own zip", f.id)
		}
	}
	for word, want := range map[string]int{"CodeUri": len(all), "CodeUri: .\n": 0, "BuildMethod": 0, ": infra/": 0} {
		if got := strings.Count(text, word); got != want {
			t.Errorf("it has %q %d times, want %d", word, got, want)
		}
	}
}

func TestTheSameProgramGivesTheSameZip(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, made := filepath.Join(folder, "bootstrap"), [2][]byte{}
	for i := range made {
		writeFile(t, program, "a program")
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
	writeFile(t, changelog, "# Changelog\n\n## 0.0.1 - 2026-11-11: x\n")
	refused("no git clone", "")
	git("init", "-q")
	refused("1 files are not committed, such as ?? infra/", "")
	git("add", "-A")
	git("commit", "-qm", "x")
	refused("CHANGELOG.md has no section of "+sale.Release, "")
	writeFile(t, changelog, "# Changelog\n\n## "+sale.Release+" - 2026-11-11: x\n")
	git("commit", "-qam", "x")
	refused("", "")
	refused("the tag is v0.0.1, but shared/sale/version.go says", "v0.0.1")
	git("tag", "-am", "x", "v"+sale.Release)
	refused("", "v"+sale.Release)
	git("commit", "-q", "--allow-empty", "-m", "y")
	refused("is released: another commit has the tag", "")
}

func TestOnlyAWholeReleaseOfThisTreeIsDeployed(t *testing.T) {
	t.Parallel()
	template := filepath.Join(root, "template.yaml")
	for says, spoil := range map[string]func(folder string){
		"":                                func(string) {},
		"are not those of its SHA256SUMS": func(folder string) { writeFile(t, filepath.Join(folder, "PayFunction.zip"), "cut off") },
		"read release":                    func(folder string) { _ = os.Remove(filepath.Join(folder, sums)) },
		"is not this tree's": func(folder string) {
			writeFile(t, filepath.Join(folder, "template.yaml"), "Resources: {}\n")
			list, err := listed(folder)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(folder, sums), string(list))
		},
	} {
		folder := releaseOf(t)
		spoil(folder)
		to := t.TempDir()
		err := copied(folder, template, to)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%v, want %q", err, says)
		}
		made, _ := os.ReadDir(to)
		if want := len(functions(t, template, nil)) + len([]string{"template.yaml", sums}); says == "" && len(made) != want {
			t.Errorf("%d files of the release are deployed, want %d", len(made), want)
		}
	}
}

func TestMakeDeployDeploysAReleaseWithoutBuilding(t *testing.T) {
	b := newBench(t, "1000")
	folder := releaseOf(t)
	out, err := b.make("deploy", "ENV=dev", "YES=1", "RELEASE="+folder)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := b.sam()
	if len(calls) != 1 || calls[0][0] != "deploy" || !strings.Contains(strings.Join(calls[0], " "), "--template-file .build/sam/template.yaml") {
		t.Errorf("sam was called %q", calls)
	}
}
