package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tree is a command with one noun and two verbs.
func tree(run func(*cobra.Command) error) *cobra.Command {
	root := &cobra.Command{Use: "shop"}
	pause := &cobra.Command{Use: "pause SALE", Args: Args("SALE"), RunE: func(c *cobra.Command, _ []string) error { return run(c) }}
	pause.Flags().String("note", "", "")
	pause.Flags().String("seen", "", "")
	pause.Flags().Int("stock", 0, "")
	pause.Flags().Duration("keep", 0, "")
	CanAsk(pause)
	Forms(pause, JSON)
	root.AddCommand(Noun("sale", "", pause, &cobra.Command{Use: "resume", Run: func(*cobra.Command, []string) {}}))
	return root
}

func executed(run func(*cobra.Command) error, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	root := tree(run)
	root.SetIn(stdin)
	root.SetOut(&out)
	root.SetErr(&errs)
	code = Execute(context.Background(), root, args)
	return code, out.String(), errs.String()
}

func TestAWrongCommandLineIsOneSentenceWithASuggestion(t *testing.T) {
	for args, want := range map[string]string{
		"sael":                            `shop: there is no command "shop sael": did you mean sale?; ` + "`shop --help` lists them",
		"sale puase":                      `shop: there is no command "shop sale puase": did you mean pause?; ` + "`shop sale --help` lists them",
		"sale pause":                      "shop: sale pause: give SALE: `shop sale pause SALE [flags]`",
		"sale pause a b":                  "shop: sale pause: unexpected argument \"b\": `shop sale pause SALE [flags]`",
		"sale pause a --sene b":           "shop: sale pause has no flag --sene: did you mean --seen?; `shop sale pause --help` lists them",
		"sale pause a -seen b":            "shop: sale pause has no flag -seen: did you mean --seen?; `shop sale pause --help` lists them",
		"sale pause a --colour b":         "shop: sale pause has no flag --colour; `shop sale pause --help` lists them",
		"sale pause a --stock ten":        `shop: --stock is "ten"; it must be a whole number`,
		"sale pause a --keep 30":          `shop: --keep is "30"; it must be a time such as 500ms, 30s or 5m`,
		"sale pause a --output csv":       `shop: --output is "csv"; it must be table or json`,
		"sale pause a --seen":             "shop: --seen has no value",
		"sale pause a\u00a0":              `shop: "a\u00a0" begins or ends with a blank: give it without`,
		"sale pause a --seen b\u00a0":     `shop: --seen is "b\u00a0", which begins or ends with a blank: give it without`,
		"sale pause a --note soles\u00a0": "",
	} {
		code, out, err := executed(func(*cobra.Command) error { return nil }, nil, strings.Split(args, " ")...)
		if want == "" && code == ExitFine {
			continue
		}
		if code != ExitUsage || out != "" || strings.TrimSpace(err) != want {
			t.Errorf("%s: exit %d, %q, %q, want %q", args, code, out, err, want)
		}
	}
}

func TestTheExitCodeIsThatOfTheError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, ExitFine}, {errors.New("no answer"), ExitUnknown}, {Bad(errors.New("wrong books")), ExitBad}, {Usagef("no sale"), ExitUsage},
		{errors.Join(errors.New("of two"), Bad(errors.New("wrong books"))), ExitBad},
	} {
		if code, _, said := executed(func(*cobra.Command) error { return tt.err }, nil, "sale", "pause", "a"); code != tt.want || (said == "") != (tt.err == nil) {
			t.Errorf("%v: exit %d, %q, want %d", tt.err, code, said, tt.want)
		}
	}
}

// seat is a terminal at which somebody types.
type seat struct{ io.Reader }

func (seat) OnTerminal() bool { return true }

func TestAQuestionIsAnsweredAtATerminalOrByYes(t *testing.T) {
	ask := func(c *cobra.Command) error { return Ask(c, "Pause?") }
	for _, tt := range []struct {
		stdin io.Reader
		flags string
		code  int
		said  string
	}{
		{seat{strings.NewReader("y\n")}, "", ExitFine, "Pause? [y/N] "},
		{seat{strings.NewReader("YES\n")}, "", ExitFine, "Pause? [y/N] "},
		{seat{strings.NewReader("\n")}, "", ExitBad, "nothing was changed"},
		{seat{strings.NewReader("")}, "", ExitBad, "nothing was changed"},
		{strings.NewReader("y\n"), "", ExitUsage, "there is no terminal: give --yes"},
		{strings.NewReader(""), " --yes", ExitFine, ""},
	} {
		code, out, said := executed(ask, tt.stdin, strings.Split("sale pause a"+tt.flags, " ")...)
		if code != tt.code || out != "" || !strings.Contains(said, tt.said) || tt.said == "" && said != "" {
			t.Errorf("%+v: exit %d, %q, %q", tt, code, out, said)
		}
	}
}

func TestAQuestionThatIsInterruptedChangesNothing(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent, _ := io.Pipe()
	var errs bytes.Buffer
	root := tree(func(c *cobra.Command) error {
		interrupt()
		return Ask(c, "Pause?")
	})
	root.SetIn(seat{silent})
	root.SetErr(&errs)
	if code := Execute(ctx, root, []string{"sale", "pause", "a"}); code != ExitUnknown || errs.String() != "Pause? [y/N] \nshop: interrupted; nothing was changed\n" {
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
