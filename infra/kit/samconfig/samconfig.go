// Package samconfig reads the SAM CLI's configuration file: the stack and the parameters of
// one environment.
//
// It knows the file's format and the SAM CLI's syntax of parameter overrides. It contains no
// parameter names and never calls AWS.
package samconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Environment holds the settings for `sam deploy` in one section of the file.
type Environment struct {
	Name      string
	StackName string
	Region    string // empty: the region of the caller's credentials
	Confirms  bool   // sam asks before it deploys
	// Known are the names of the file's environments, also if this one is none of them.
	Known []string
	// Parameters are the overrides by parameter name.
	Parameters map[string]string
}

// ErrUnknown means that the file has no such environment.
var ErrUnknown = errors.New("no such environment")

// Read returns the named environment. The parameters in its SaleFile, if it exists, override
// those of the file.
func Read(path, name string) (Environment, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Environment{}, fmt.Errorf("read samconfig: %w", err)
	}
	e, err := Parse(text, name)
	if err != nil {
		return e, err
	}
	if err = e.OverrideFrom(SaleFile(path, name)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return e, err
}

// errForm does not quote what it is about: it may be a secret.
var errForm = errors.New("does not begin with Name=value; a value with spaces or quotes must be quoted")

// OverrideFrom adds the parameters of a file, one Name=value a line.
func (e *Environment) OverrideFrom(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	for i, line := range strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n") {
		if err := e.Override(line); errors.Is(err, errForm) {
			return fmt.Errorf("read parameters: line %d of %s, or a part of it, %w", i+1, path, errForm)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// SaleFile is the path, beside the configuration file, where `flashsale plan --apply name` writes
// the parameters of the next sale: one Name=value per line.
func SaleFile(path, name string) string {
	return filepath.Join(filepath.Dir(path), "sale-"+name+".parameters")
}

// command is the part of a command's table that is used.
type command struct {
	Parameters *struct {
		StackName string `toml:"stack_name"`
		Confirms  bool   `toml:"confirm_changeset"`
		Region    string `toml:"region"`
		Overrides any    `toml:"parameter_overrides"` // a string or a list of strings
	} `toml:"parameters"`
}

// Parse is Read for a file's contents.
func Parse(text []byte, name string) (Environment, error) {
	e := Environment{Name: name, Parameters: map[string]string{}}
	var file map[string]toml.Primitive // some are no tables, such as version
	decoder, err := toml.Decode(string(text), &file)
	if err != nil {
		return e, fmt.Errorf("parse samconfig: %w", err)
	}
	for _, other := range slices.Sorted(maps.Keys(file)) {
		var commands map[string]command
		err := decoder.PrimitiveDecode(file[other], &commands)
		if err == nil && commands["deploy"].Parameters != nil {
			e.Known = append(e.Known, other)
		}
		if other != name {
			continue
		}
		if err != nil {
			return e, fmt.Errorf("parse samconfig: %s: %w", name, err)
		}
		// The command's section overrides the section for all commands.
		for _, c := range []command{commands["global"], commands["deploy"]} {
			if c.Parameters == nil {
				continue
			}
			e.StackName, e.Region = cmp.Or(c.Parameters.StackName, e.StackName), cmp.Or(c.Parameters.Region, e.Region)
			e.Confirms = e.Confirms || c.Parameters.Confirms
			if err := e.overrides(c.Parameters.Overrides); err != nil {
				return e, err
			}
		}
	}
	if !slices.Contains(e.Known, name) {
		return e, fmt.Errorf("%q: %w; there are: %s", name, ErrUnknown, strings.Join(e.Known, ", "))
	}
	return e, nil
}

func (e *Environment) overrides(value any) error {
	all, ok := value.([]any)
	if !ok && value != nil {
		all = []any{value}
	}
	for _, one := range all {
		text, ok := one.(string)
		if !ok {
			return fmt.Errorf("read samconfig: parameter_overrides of %s has %v, which is not a string", e.Name, one)
		}
		if err := e.Override(text); err != nil {
			return err
		}
	}
	return nil
}

// pair is a Name=value at the start of a text. A value may be in single or double quotes, and a backslash
// escapes the next character.
var pair = regexp.MustCompile(`(?s)^([A-Za-z0-9]{1,255})=("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?:(?:\\.|[^ "'\\])(?:\\.|[^ "\\])*)?)(?: +|$)`)

// unescape undoes the escapes that the SAM CLI knows; other backslashes stay.
var unescape = strings.NewReplacer(`\ `, " ", `\"`, `"`, `\'`, "'")

// Override adds parameters in the SAM CLI's syntax: Name=value, several in one text
// separated by spaces, a value with spaces in quotes. Text that the SAM CLI would
// silently skip is an error here.
func (e *Environment) Override(texts ...string) error {
	for _, text := range texts {
		given := map[string]bool{}
		for rest := strings.TrimSpace(text); rest != ""; {
			found := pair.FindStringSubmatch(rest)
			if found == nil {
				return fmt.Errorf("read parameters: %q %w", rest, errForm)
			}
			name, value := found[1], found[2]
			if given[name] {
				return fmt.Errorf("read parameters: %s is given twice", name)
			}
			if value != "" && (value[0] == '"' || value[0] == '\'') {
				value = value[1 : len(value)-1]
			}
			given[name], e.Parameters[name], rest = true, unescape.Replace(value), rest[len(found[0]):]
		}
	}
	return nil
}

// File is the configuration file at a path in which all of the environment's parameters are its overrides: the SAM
// CLI reads them there, and the process list, which everybody on the machine can read, does not show them.
func (e *Environment) File(path string) ([]byte, error) {
	var file map[string]any
	arguments, err := e.Arguments()
	if err == nil {
		_, err = toml.DecodeFile(path, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("read samconfig: %w", err)
	}
	at := file
	for _, name := range []string{e.Name, "deploy", "parameters"} {
		next, ok := at[name].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: %w", e.Name, ErrUnknown)
		}
		at = next
	}
	at["parameter_overrides"] = arguments
	return toml.Marshal(file)
}

// Arguments formats the parameters as the SAM CLI's overrides, sorted, one each.
// It fails for a value that cannot be expressed: the SAM CLI has no syntax for a backslash
// before a quote or a space, and whether it keeps a line break nobody has tried.
func (e *Environment) Arguments() ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(e.Parameters)) {
		value := e.Parameters[name]
		argument := name + `="` + strings.ReplaceAll(value, `"`, `\"`) + `"`
		read := Environment{Parameters: map[string]string{}}
		if err := read.Override(argument); err != nil || read.Parameters[name] != value || strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("format parameter %s: the SAM CLI's syntax cannot express its value", name)
		}
		out = append(out, argument)
	}
	return out, nil
}
