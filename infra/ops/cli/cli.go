// Package cli is what the commands of flashsale share: exit codes, errors of the command line with
// suggestions, questions, progress and forms of output. It knows nothing of sales or AWS.
package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	ExitFine    = 0
	ExitBad     = 1  // the answer is bad: wrong books, or a change that did not take effect
	ExitUnknown = 2  // it could not be found out
	ExitUsage   = 64 // EX_USAGE of sysexits.h
)

// exit is an error with its exit code.
type exit struct {
	error
	code int
}

func (e exit) Unwrap() error { return e.error }

// Usagef is an error of the command line: the command has done nothing.
func Usagef(format string, args ...any) error {
	return exit{fmt.Errorf(format, args...), ExitUsage}
}

// Bad marks an error as a bad answer. All errors that are not marked say that the answer is not known.
func Bad(err error) error { return exit{err, ExitBad} }

// Code is the exit code of a command that ended with err.
func Code(err error) int {
	if err == nil {
		return ExitFine
	}
	if e, ok := errors.AsType[exit](err); ok {
		return e.code
	}
	return ExitUnknown
}

// As marks an error with the exit code of another.
func As(other, err error) error { return exit{err, Code(other)} }

// Groups of commands in the root's help, in their order.
var (
	Before     = &cobra.Group{ID: "before", Title: "Before a sale:"}
	During     = &cobra.Group{ID: "during", Title: "During a sale:"}
	After      = &cobra.Group{ID: "after", Title: "After a sale:"}
	Developers = &cobra.Group{ID: "developers", Title: "For developers:"}
)

// Execute runs the command that args name, says on stderr what went wrong, in one line, and returns the exit
// code.
func Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = refuseBlanks
	cobra.EnableCommandSorting = false
	root.AddGroup(Before, During, After, Developers)
	root.SetHelpCommandGroupID(Developers.ID)
	root.SetCompletionCommandGroupID(Developers.ID)
	if root.RunE == nil {
		groups(root)
	}
	out := &output{Writer: root.OutOrStdout()}
	root.SetOut(out) // before cobra's own commands note it
	root.SetArgs(args)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseOthers(root)
	err := root.ExecuteContext(ctx)
	switch {
	case errors.Is(err, ErrLeft), err == nil && out.err == ErrLeft:
		err = nil
	case err == nil && out.err != nil:
		err = fmt.Errorf("the output is not complete: %w", out.err)
	}
	code := Code(err)
	switch {
	case err == nil:
	case ctx.Err() != nil && code == ExitUnknown:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)) {
			err = errors.New("repeat the command")
		}
		fmt.Fprintf(root.ErrOrStderr(), "%s: interrupted; %v\n", root.Name(), OneLine(err))
	default:
		fmt.Fprintf(root.ErrOrStderr(), "%s: %s\n", root.Name(), strings.TrimPrefix(OneLine(err).Error(), root.Name()+" "))
	}
	return code
}

// Noun is a command whose subcommands are its verbs.
func Noun(name, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short}
	c.AddCommand(verbs...)
	groups(c)
	return c
}

// groups makes a command that only has subcommands print its help, or refuse a name that it does not have:
// cobra would ignore the name, but for the root's.
func groups(c *cobra.Command) {
	c.Args, c.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknown(c, args[0])
	}
}

func unknown(c *cobra.Command, name string) error {
	c.SuggestionsMinimumDistance = 2
	return Usagef("there is no command %q%s; `%s --help` lists them", c.CommandPath()+" "+name, didYouMean(c.SuggestionsFor(name), ""), c.CommandPath())
}

// refuseOthers makes cobra's own commands refuse what they do not know: they would show their help, as if that
// had been asked for.
func refuseOthers(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			groups(c)
		case "help":
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
				of, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 && of.HasSubCommands() {
					err = unknown(of, rest[0])
				}
				if err != nil {
					return err
				}
				of.InitDefaultHelpFlag()
				return of.Help()
			}
		}
	}
}

// Args takes one argument for each name; a name in brackets, which must be the last, is optional.
func Args(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		for i, name := range names {
			if i >= len(args) && name[0] != '[' {
				return Usagef("%s: give %s: `%s`", c.CommandPath(), name, c.UseLine())
			}
		}
		if len(args) > len(names) {
			return Usagef("%s: unexpected argument %q: `%s`", c.CommandPath(), args[len(names)], c.UseLine())
		}
		return nil
	}
}

// flagError rephrases an error of the flags as one line.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name, dashes := unknown.GetSpecifiedName(), "--"
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			name, dashes = letters, "-"
		}
		return Usagef("%s has no flag %s%s%s; `%s --help` lists them", c.CommandPath(), dashes, name, flagsLike(c, name), c.CommandPath())
	}
	if noValue, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return Usagef("--%s has no value", noValue.GetFlag().Name)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usagef("--%s is %q; it must be %s", invalid.GetFlag().Name, invalid.GetValue(), kind(invalid.GetFlag(), invalid.Unwrap()))
	}
	return Usagef("%w", OneLine(err))
}

// flagsLike suggests the command's flags whose names are near a name.
func flagsLike(c *cobra.Command, name string) string {
	if c.Flags().Lookup(name) != nil { // with one dash
		return didYouMean([]string{name}, "--")
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return didYouMean(near(name, names), "--")
}

// DidYouMean suggests those of the known names that are near a name; "" if none is.
func DidYouMean(name string, known []string) string { return didYouMean(near(name, known), "") }

func near(name string, known []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, one := range known {
		all.AddCommand(&cobra.Command{Use: one, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(name)
}

func didYouMean(names []string, dashes string) string {
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (did you mean " + dashes + strings.Join(names, " or "+dashes) + "?)"
}

// kind describes the values that a flag takes; reason is why one was refused.
func kind(f *pflag.Flag, reason error) string {
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number of at least 0"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 500ms, 30s or 5m"
	case "bool":
		return "true or false"
	}
	return reason.Error()
}

// prose are the flags whose text may begin or end with a blank.
var prose = []string{"note", "name", "about", "parameters"}

// refuseBlanks refuses a value that begins or ends with a blank: with a pasted one, an id names somebody or
// something else, and nobody sees why nothing is found. A flag of every command must have one: with a script's
// variable that is not set, the command would work on another system.
func refuseBlanks(c *cobra.Command, args []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if err == nil && value == "" && c.InheritedFlags().Lookup(f.Name) != nil {
			err = Usagef("--%s has no value", f.Name)
		}
		if err == nil && !slices.Contains(prose, f.Name) && value != strings.TrimSpace(value) {
			err = Usagef("--%s is %q, which begins or ends with a blank: give it without", f.Name, value)
		}
	})
	for _, value := range args {
		if err == nil && value != strings.TrimSpace(value) {
			err = Usagef("%q begins or ends with a blank: give it without", value)
		}
	}
	return err
}

// Between returns an error unless a flag's value is in its range.
func Between[T int | int64 | float64 | time.Duration](flag string, value, low, high T) error {
	if value >= low && value <= high {
		return nil
	}
	return Usagef("--%s is %v; it must be %v to %v", flag, value, low, high) // NaN, too
}

// OneLine is an error's text in one line, because those of AWS have several.
func OneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }
