package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func (r *report) tree(ctx context.Context) {
	if r.Changes == nil {
		return
	}
	files, err := r.Changes(ctx)
	if err == nil && len(files) > 0 {
		err = fmt.Errorf("%d files are not committed, the first: %s", len(files), strings.TrimSpace(files[0]))
	}
	switch {
	case err == nil:
		r.add(OK, "work tree", "everything is committed")
	case r.Production:
		r.add(Failed, "work tree", "%v", err)
	default:
		r.add(Warning, "work tree", "%v", err)
	}
}

// Uncommitted lists the changed files of a work tree, a line for each.
func Uncommitted(ctx context.Context, tree string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git", "-C", tree, "status", "--porcelain").Output()
	if _, missing := os.Stat(filepath.Join(tree, ".git")); err != nil && errors.Is(missing, fs.ErrNotExist) {
		return nil, errors.New("this is no git clone, so nobody can tell later what was deployed")
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git status: %w: %s", err, bytes.TrimSpace(failed.Stderr))
	}
	return slices.Collect(strings.FieldsFuncSeq(string(out), func(c rune) bool { return c == '\n' })), err
}
