package samconfig

import (
	"fmt"
	"regexp"
	"strings"
)

// parameterName is CloudFormation's rule for the names of parameters.
var parameterName = regexp.MustCompile(`^[A-Za-z0-9]{1,255}$`)

// parseOverrides reads Name=value pairs as the SAM CLI does: a value may be in single or
// double quotes, and a backslash escapes the next character. Text that the SAM CLI would
// silently skip is an error here.
func parseOverrides(text string) (map[string]string, error) {
	out := map[string]string{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " ") {
		name, value, found := strings.Cut(rest, "=")
		if !found || !parameterName.MatchString(name) {
			return nil, fmt.Errorf("read parameters: %q is not Name=value", rest)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("read parameters: %s is given twice", name)
		}
		length, err := valueLength(value)
		if err != nil {
			return nil, fmt.Errorf("read parameters: %s: %w", name, err)
		}
		out[name] = unquote(value[:length])
		rest = value[length:]
		if rest != "" && rest[0] != ' ' {
			return nil, fmt.Errorf("read parameters: %s: %q follows the value", name, rest)
		}
	}
	return out, nil
}

// valueLength returns the length of the value at the start of the text.
func valueLength(text string) (int, error) {
	quoted := byte(' ')
	start := 0
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quoted, start = text[0], 1
	}
	for i := start; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i++; i == len(text) {
				return 0, fmt.Errorf("%q ends with a backslash", text)
			}
		case text[i] == quoted && quoted == ' ':
			return i, nil
		case text[i] == quoted:
			return i + 1, nil
		case text[i] == '"' && quoted == ' ':
			return 0, fmt.Errorf("%q has a quote in the middle; quote the whole value", text)
		}
	}
	if quoted != ' ' {
		return 0, fmt.Errorf("%q has no closing quote", text)
	}
	return len(text), nil
}

// unescape undoes the escapes that the SAM CLI knows; other backslashes stay.
var unescape = strings.NewReplacer(`\ `, " ", `\"`, `"`, `\'`, "'")

func unquote(value string) string {
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		value = value[1 : n-1]
	}
	return unescape.Replace(value)
}

// quote is the inverse of unquote.
func quote(value string) string {
	return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
}
