package e2e

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withLast is not the default, because a tree without the git history cannot build the last
// release.
var withLast = flag.Bool("last-release", false, "mix this release with the commit that infra/proof/e2e/last-release names, which git must have; `make prove` does")

// release is a folder with the functions' programs, as NAME/bootstrap.
type release string

func (r release) program(function string) string {
	return filepath.Join(string(r), function, "bootstrap")
}

// lastRelease builds the functions of the commit that the file last-release names, once
// for each commit.
func lastRelease(t *testing.T, root string) release {
	t.Helper()
	text, err := os.ReadFile("last-release")
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(text))
	folder := filepath.Join(root, ".build", "releases", commit)
	if _, err := os.Stat(folder); err == nil {
		return release(folder)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "building-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	run := func(name, dir string, args ...string) error {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
		}
		return nil
	}
	source, built := filepath.Join(work, "source"), filepath.Join(work, "built")
	archive := filepath.Join(work, "source.tar")
	if err := run("git", root, "archive", "-o", archive, commit, "functions", "shared", "go.mod", "go.sum"); err != nil {
		t.Fatalf("the last release is not in this clone; `git fetch --depth=1 origin %s` gets it: %v", commit, err)
	}
	if err := errors.Join(os.Mkdir(source, 0o755), run("tar", source, "-xf", archive)); err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(filepath.Join(source, "functions"))
	if err != nil {
		t.Fatal(err)
	}
	// The flags of `make host`, so that packages without a change are not compiled again.
	build := []string{"build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s", "-o", built + "/", "./functions/..."}
	if err := errors.Join(os.Mkdir(built, 0o755), run("go", source, build...)); err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		name := strings.ToUpper(f.Name()[:1]) + f.Name()[1:] + "Function"
		if err := errors.Join(os.Mkdir(filepath.Join(work, name), 0o755),
			os.Rename(filepath.Join(built, f.Name()), release(work).program(name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(source), os.RemoveAll(built), os.Remove(archive), os.Rename(work, folder)); err != nil {
		t.Fatal(err)
	}
	return release(folder)
}
