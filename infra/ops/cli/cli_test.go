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

func TestAnArrayIsWholeOnlyOnceItIsClosed(t *testing.T) {
	for want, values := range map[string][]any{"[]\n": nil, "[\n  1,\n  {\"a\":2}\n]\n": {1, map[string]int{"a": 2}}} {
		var out bytes.Buffer
		a := NewArray(&out)
		for _, v := range values {
			if err := a.Add(v); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil || out.String() != want {
			t.Errorf("got %q, %v, want %q", out.String(), err, want)
		}
	}
}
