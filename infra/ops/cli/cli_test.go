package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
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
