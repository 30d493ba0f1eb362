package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/target/targettest"
)

// seat is a terminal at which somebody sits and types nothing.
type seat struct{ io.Reader }

func (seat) OnTerminal() bool { return true }

func TestAQuestionThatIsInterruptedChangesNothing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent, _ := io.Pipe()
	var errs bytes.Buffer
	root := &cobra.Command{Use: "shop", RunE: func(c *cobra.Command, _ []string) error {
		interrupt()
		return Ask(c, "Pause?")
	}}
	root.SetIn(seat{silent})
	root.SetErr(&errs)
	if code := Execute(ctx, root, nil); code != ExitUnknown || errs.String() != "Pause? [y/N] \nshop: interrupted; nothing was changed\n" {
		t.Errorf("exit %d, %q", code, &errs)
	}
}

func TestAnInterruptedCommandSaysNothingOfItsCalls(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var errs bytes.Buffer
	root := &cobra.Command{Use: "shop", RunE: func(c *cobra.Command, _ []string) error {
		interrupt()
		return fmt.Errorf("operation error SQS: %w", ctx.Err())
	}}
	root.SetErr(&errs)
	if code := Execute(ctx, root, nil); code != ExitUnknown || errs.String() != "shop: interrupted; repeat the command\n" {
		t.Errorf("exit %d, %q", code, &errs)
	}
}

// lost is a full disk, or a reader that has left.
type lost struct{ error }

func (l lost) Write([]byte) (int, error) { return 0, l.error }

func TestOutputThatIsLostIsAFailureUnlessItsReaderHasLeft(t *testing.T) {
	for why, want := range map[error]int{syscall.ENOSPC: ExitUnknown, syscall.EPIPE: ExitFine} {
		root := &cobra.Command{Use: "shop", Run: func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), "paused") }}
		root.SetOut(lost{why})
		root.SetErr(io.Discard)
		if code := Execute(t.Context(), root, nil); code != want {
			t.Errorf("%v: exit %d, want %d", why, code, want)
		}
		root.AddCommand(&cobra.Command{Use: "open", Run: func(*cobra.Command, []string) {}})
		root.SetOut(lost{why})
		if code := Execute(t.Context(), root, []string{"completion", "bash"}); code != want {
			t.Errorf("completion, %v: exit %d, want %d", why, code, want)
		}
	}
}

func TestAShellReadsBackTheWordsOfASuggestedCommand(t *testing.T) {
	words := []string{"sale", "", "it's", `$(id) "x" \`, "`id`", "two  words", "a\nb", "!x*?~#&;|<>", "名", "-n", "http://127.0.0.1:3000/a?b=c&d"}
	got, err := exec.Command("sh", "-c", "for word in "+Quote(words...)+`; do printf '%s\000' "$word"; done`).Output()
	if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(got) != want {
		t.Errorf("%s is read as %q (%v), want %q", Quote(words...), got, err, want)
	}
	if plain := "--env dev-1 --url http://127.0.0.1:3000"; Quote(strings.Fields(plain)...) != plain {
		t.Errorf("got %s", Quote(strings.Fields(plain)...))
	}
}

func TestARangeHasItsEnds(t *testing.T) {
	for value, want := range map[float64]int{1: ExitFine, 3: ExitFine, 0.9: ExitUsage, 3.1: ExitUsage, math.NaN(): ExitUsage} {
		if got := Code(Between("rate", value, 1, 3)); got != want {
			t.Errorf("%v of 1 to 3: exit %d, want %d", value, got, want)
		}
	}
}

func TestWhetherAFileCanBeWrittenIsFoundOutWithoutATrace(t *testing.T) {
	folder := t.TempDir()
	kept := targettest.File(t, filepath.Join(folder, "kept"), "x")
	for name, want := range map[string]int{kept: ExitFine, filepath.Join(folder, "new"): ExitFine, folder: ExitUsage, filepath.Join(folder, "none", "new"): ExitUsage} {
		if got := Code(CanWrite("report", name)); got != want {
			t.Errorf("%s: exit %d, want %d", name, got, want)
		}
	}
	if text, err := os.ReadFile(kept); string(text) != "x" || err != nil {
		t.Errorf("a file that was there has %q (%v)", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
