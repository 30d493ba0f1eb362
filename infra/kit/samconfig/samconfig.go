// Package samconfig reads the SAM CLI's configuration file: the stack and the parameters of
// one environment.
//
// It knows the file's format and the SAM CLI's syntax of parameter overrides. It contains no
// parameter names and never calls AWS.
package samconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Environment holds the settings for `sam deploy` in one section of the file.
type Environment struct {
	Name      string
	StackName string
	Region    string // empty: the region of the caller's credentials
	// Parameters are the overrides by parameter name.
	Parameters map[string]string
}

// ErrNoEnvironment means that the file has no such section.
var ErrNoEnvironment = errors.New("no such environment")

// Read returns the named environment. The parameters in its SaleFile, if it exists, override
// those of the file. The error is ErrNoEnvironment if the file has no such environment.
func Read(path, name string) (Environment, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Environment{}, fmt.Errorf("read samconfig: %w", err)
	}
	e, err := Parse(text, name)
	if err != nil {
		return e, err
	}
	sale, err := os.ReadFile(SaleFile(path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("read the sale's parameters: %w", err)
	}
	return e, e.Override(strings.FieldsFunc(string(sale), func(c rune) bool { return c == '\n' })...)
}

// SaleFile is the path, beside the configuration file, where `make plan … APPLY=name` writes
// the parameters of the next sale: one Name=value per line.
func SaleFile(path, name string) string {
	return filepath.Join(filepath.Dir(path), "sale-"+name+".parameters")
}

// Parse is Read for a file's contents.
func Parse(text []byte, name string) (Environment, error) {
	e := Environment{Name: name, Parameters: map[string]string{}}
	file := map[string]any{}
	if err := toml.Unmarshal(text, &file); err != nil {
		return e, fmt.Errorf("parse samconfig: %w", err)
	}
	if section(file, name, "deploy", "parameters") == nil {
		var known []string
		for other := range file {
			if section(file, other, "deploy", "parameters") != nil {
				known = append(known, other)
			}
		}
		slices.Sort(known)
		return e, fmt.Errorf("%q: %w; there are: %s", name, ErrNoEnvironment, strings.Join(known, ", "))
	}
	// The command's section overrides the section for all commands.
	for _, command := range []string{"global", "deploy"} {
		for key, value := range section(file, name, command, "parameters") {
			if err := e.set(key, value); err != nil {
				return e, err
			}
		}
	}
	return e, nil
}

// section finds a table in tables, nil if there is none.
func section(table map[string]any, path ...string) map[string]any {
	for _, step := range path {
		next, ok := table[step].(map[string]any)
		if !ok {
			return nil
		}
		table = next
	}
	return table
}

func (e *Environment) set(key string, value any) error {
	switch key {
	case "stack_name", "region":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("read samconfig: %s of %s is not a string", key, e.Name)
		}
		if key == "region" {
			e.Region = text
		} else {
			e.StackName = text
		}
	case "parameter_overrides":
		var texts []string
		switch v := value.(type) {
		case string:
			texts = []string{v}
		case []any:
			for _, one := range v {
				text, ok := one.(string)
				if !ok {
					return fmt.Errorf("read samconfig: parameter_overrides of %s contains %v, which is not a string", e.Name, one)
				}
				texts = append(texts, text)
			}
		default:
			return fmt.Errorf("read samconfig: parameter_overrides of %s is neither a string nor a list of strings", e.Name)
		}
		return e.Override(texts...)
	}
	return nil
}

// Override adds parameters in the SAM CLI's syntax: Name=value, several in one text
// separated by spaces, a value with spaces in quotes.
func (e *Environment) Override(texts ...string) error {
	for _, text := range texts {
		read, err := parseOverrides(text)
		if err != nil {
			return err
		}
		maps.Copy(e.Parameters, read)
	}
	return nil
}

// Arguments formats the parameters for `--parameter-overrides`, sorted, one argument each.
// The SAM CLI's command-line overrides replace those of the file, so these must be complete.
// It fails for a value that cannot be expressed: the SAM CLI has no syntax for a backslash
// before a quote or a space, and a line break would end the line from which `make deploy`
// reads the argument.
func (e *Environment) Arguments() ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(e.Parameters)) {
		argument := name + "=" + quote(e.Parameters[name])
		if read, err := parseOverrides(argument); err != nil || read[name] != e.Parameters[name] || strings.ContainsAny(argument, "\r\n") {
			return nil, fmt.Errorf("format parameter %s: the SAM CLI's syntax cannot express %q", name, e.Parameters[name])
		}
		out = append(out, argument)
	}
	return out, nil
}
