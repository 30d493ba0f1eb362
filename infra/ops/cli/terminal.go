package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Open opens a file that a command line names; "-" is stdin. That it cannot be read is a wrong call.
func Open(c *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.InOrStdin()), nil
	}
	file, err := os.Open(name)
	if err == nil {
		if is, failed := file.Stat(); failed == nil && is.IsDir() {
			err = errors.New(name + " is a folder")
		}
	}
	if err != nil {
		return nil, Usagef("read the file: %w", err)
	}
	return file, nil
}

// ReadFile reads such a file whole, of so many bytes at most.
func ReadFile(c *cobra.Command, name string, most int64) ([]byte, error) {
	file, err := Open(c, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, Usagef("read the file: %w", err)
	case int64(len(text)) > most:
		return nil, Usagef("read the file: %s has more than %s bytes", name, Thousands(most))
	}
	return text, nil
}

// CanWrite finds out whether a file can be written in the end, before what it is about begins.
func CanWrite(flag, name string) error {
	_, missing := os.Lstat(name)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return Usagef("--%s cannot be written: %w", flag, err)
	}
	file.Close()
	if missing != nil {
		return os.Remove(name)
	}
	return nil
}

// IsFile refuses "-" where stdin or stdout cannot stand for a file.
func IsFile(flag, name, why string) error {
	if name == "-" {
		return Usagef("--%s must name a file, because %s", flag, why)
	}
	return nil
}

// IsTerminal reports whether somebody sits at a stream.
func IsTerminal(stream any) bool {
	switch s := stream.(type) {
	case interface{ OnTerminal() bool }: // of a test
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
