// Package samconfig reads the SAM CLI's configuration file: what one environment
// deploys, and with which parameters.
//
// It reads the file's format and the SAM CLI's spelling of parameter overrides.
// It contains no parameter names and never calls AWS.
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

// Environment is what one section of the file says about `sam deploy`.
type Environment struct {
	Name      string
	StackName string
	Region    string // empty: the region of the caller's credentials
	// Parameters are the overrides, by the template's parameter names.
	Parameters map[string]string
}

// ErrNoEnvironment: the file has no such section.
var ErrNoEnvironment = errors.New("no such environment")

// Read returns the environment of that name, with the parameters of SaleFile, if
// there is one, over those of the file. The error is ErrNoEnvironment if the file
// does not describe its deployment.
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

// SaleFile is where `make plan … APPLY=name` puts the parameters of the next sale,
// beside the configuration file: one Name=value on each line.
func SaleFile(path, name string) string {
	return filepath.Join(filepath.Dir(path), "sale-"+name+".parameters")
}

// Parse is Read on a file's contents.
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
	// The command's own section wins over the one for all commands.
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
			return fmt.Errorf("read samconfig: %s of %s is not a text", key, e.Name)
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
					return fmt.Errorf("read samconfig: parameter_overrides of %s holds %v, which is not a text", e.Name, one)
				}
				texts = append(texts, text)
			}
		default:
			return fmt.Errorf("read samconfig: parameter_overrides of %s is no text and no list of texts", e.Name)
		}
		return e.Override(texts...)
	}
	return nil
}

// Override adds parameters that are spelled as the SAM CLI takes them:
// Name=value, several in one text apart by spaces, a value with spaces in quotes.
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

// Arguments spells the parameters for `--parameter-overrides`, sorted, one
// argument each. The SAM CLI takes the command line's overrides instead of the
// file's, not besides them, so these must be all. The error is for a
// value that has no spelling: a backslash before a quote or a space has none for the SAM
// CLI, and a line break would end the line that `make deploy` reads the argument from.
func (e *Environment) Arguments() ([]string, error) {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(e.Parameters)) {
		argument := name + "=" + quote(e.Parameters[name])
		if read, err := parseOverrides(argument); err != nil || read[name] != e.Parameters[name] || strings.ContainsAny(argument, "\r\n") {
			return nil, fmt.Errorf("spell parameter %s: the SAM CLI cannot be told %q", name, e.Parameters[name])
		}
		out = append(out, argument)
	}
	return out, nil
}
