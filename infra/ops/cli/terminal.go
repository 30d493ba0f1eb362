package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// onTerminal is a stream that says itself whether it is a terminal, for tests.
type onTerminal interface{ OnTerminal() bool }

// IsTerminal reports whether somebody sits at a stream.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case onTerminal:
		return s.OnTerminal()
	case interface{ Fd() uintptr }:
		return term.IsTerminal(int(s.Fd()))
	}
	return false
}

// CanAsk adds --yes, which answers the command's question.
func CanAsk(c *cobra.Command) { c.Flags().BoolP("yes", "y", false, "do not ask") }

// ErrUnanswered means that a question was interrupted.
var ErrUnanswered = errors.New("nothing was changed")

// Ask asks a question that is answered with yes or no; no is a bad answer. It returns nil at once with --yes.
// Without a terminal it refuses: what a pipe brings is no answer to what was never read.
func Ask(c *cobra.Command, question string) error {
	if yes, _ := c.Flags().GetBool("yes"); yes {
		return nil
	}
	if !IsTerminal(c.InOrStdin()) {
		return Usagef("%s asks before it goes on, and there is no terminal: give --yes", c.CommandPath())
	}
	fmt.Fprintf(c.ErrOrStderr(), "%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n') // no answer is no
		answered <- strings.ToLower(strings.TrimSpace(answer))
	}()
	select {
	case <-c.Context().Done():
		fmt.Fprintln(c.ErrOrStderr())
		return ErrUnanswered
	case a := <-answered:
		if a != "y" && a != "yes" {
			return Bad(errors.New("nothing was changed"))
		}
		return nil
	}
}

// Progress shows a bar on stderr if that is a terminal: what is done and about how much there is, -1 if that
// is unknown. clear removes the bar.
func Progress(stderr io.Writer, of string) (show func(done, about int64), clear func()) {
	if !IsTerminal(stderr) {
		return func(int64, int64) {}, func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(stderr), progressbar.OptionSetDescription(of),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
	// A terminal error must not stop the command.
	return func(done, about int64) {
		if about >= 0 {
			bar.ChangeMax64(max(about, 1))
		}
		_ = bar.Set64(done)
	}, func() { _ = bar.Clear() }
}
