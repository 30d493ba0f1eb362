// Package arguments reads the flags of the programs that `make` starts. An error is one
// line that names the make variable, if the value came from one.
package arguments

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// variables lists the make variables that are not named like their flag.
var variables = map[string]string{"user": "BUYER", "dead-letter-queue": "DLQ"}

// Name returns the make variable that set the flag, such as RATE, or else the flag, such as
// -rate. make exports its command-line variables to the environment.
func Name(option string) string {
	variable := cmp.Or(variables[option], strings.ToUpper(strings.ReplaceAll(option, "-", "_")))
	if os.Getenv(variable) != "" {
		return variable
	}
	return "-" + option
}

// The flag package has no type for its errors.
var (
	invalid  = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (.*) for (?:flag )?-([a-z-]+): (.*)$`)
	noValue  = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	unknown  = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	newlines = strings.NewReplacer("\r", " ", "\n", " ")
)

// Parse parses args. With -h it prints the list of flags to f's output and returns
// flag.ErrHelp.
func Parse(f *flag.FlagSet, args []string) error {
	out, usage := f.Output(), f.Usage
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	err := f.Parse(args)
	f.SetOutput(out)
	f.Usage = usage
	switch {
	case err == nil:
		return blanks(f)
	case !errors.Is(err, flag.ErrHelp):
		return rephrase(f, err)
	case usage != nil:
		usage()
	default:
		f.PrintDefaults()
	}
	return err
}

// prose lists the options whose text may begin or end with a blank.
var prose = map[string]bool{"note": true, "name": true, "about": true, "parameters": true, "parameter": true}

// blanks refuses a value that begins or ends with a blank: with a pasted one, an id names somebody
// or something else, and nobody sees why nothing is found.
func blanks(f *flag.FlagSet) (err error) {
	f.Visit(func(given *flag.Flag) {
		if value := given.Value.String(); err == nil && !prose[given.Name] && value != strings.TrimSpace(value) {
			err = fmt.Errorf("%s is %q, which begins or ends with a blank: give it without", Name(given.Name), value)
		}
	})
	return err
}

func rephrase(f *flag.FlagSet, err error) error {
	text := newlines.Replace(err.Error())
	if m := invalid.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s is %s; it must be %s", Name(m[2]), m[1], kind(f.Lookup(m[2]), m[3]))
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s has no value", Name(m[1]))
	}
	if m := unknown.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("there is no option -%s (-h lists them)", m[1])
	}
	return errors.New(text)
}

// kind describes the values that a flag accepts; reason is why this one was refused.
func kind(f *flag.Flag, reason string) string {
	if getter, ok := f.Value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case int, int64:
			return "a whole number"
		case uint, uint64:
			return "a whole number of at least 0"
		case float64:
			return "a number"
		case time.Duration:
			return "a time such as 500ms, 30s or 5m"
		case bool:
			return "true or false"
		}
	}
	return "different: " + reason
}

// Between returns an error unless an option's value is in its range.
func Between[T int | int64 | float64 | time.Duration](option string, value, low, high T) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("%s is %v; it must be %v to %v", Name(option), value, low, high) // NaN, too
}
