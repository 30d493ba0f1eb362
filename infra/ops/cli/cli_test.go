package cli

import (
	"bytes"
	"context"
	"io"
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
