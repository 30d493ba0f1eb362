package dynamotest

import (
	"fmt"
	"strings"
)

// maxExpression is the longest expression DynamoDB reads, in bytes.
const maxExpression = 4096

// kind is what a token is.
type kind int

const (
	tokenEnd    kind = iota
	tokenWord        // a bare name, a keyword or a function
	tokenName        // #name
	tokenValue       // :value
	tokenIndex       // the digits of a list index
	tokenSymbol      // ( ) [ ] , . = <> < <= > >= + -
)

type token struct {
	kind kind
	text string
}

func (t token) is(symbol string) bool { return t.kind == tokenSymbol && t.text == symbol }

// keyword reports whether the token is that keyword, in any letter case.
func (t token) keyword(word string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, word)
}

// syntaxError is what is wrong with the text of an expression. The caller knows
// which expression of which request it is and makes a ValidationException of it.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

func unexpected(t token) error {
	if t.kind == tokenEnd {
		return syntaxError("Syntax error; token: \"<EOF>\"")
	}
	return syntaxError(fmt.Sprintf("Syntax error; token: %q", t.text))
}

// lex cuts an expression into tokens, the last of which is the end.
func lex(text string) ([]token, error) {
	if len(text) > maxExpression {
		return nil, syntaxError(fmt.Sprintf(
			"Expression size has exceeded the maximum allowed size; expression size: %d", len(text)))
	}
	var tokens []token
	for i := 0; i < len(text); {
		c := text[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case letter(c):
			i = wordEnd(text, i)
			tokens = append(tokens, token{tokenWord, text[start:i]})
		case c == '#' || c == ':':
			i = wordEnd(text, i+1)
			if i == start+1 {
				return nil, unexpected(token{tokenSymbol, text[start:i]})
			}
			k := tokenName
			if c == ':' {
				k = tokenValue
			}
			tokens = append(tokens, token{k, text[start:i]})
		case digit(c):
			for i < len(text) && digit(text[i]) {
				i++
			}
			tokens = append(tokens, token{tokenIndex, text[start:i]})
		case strings.HasPrefix(text[i:], "<>") || strings.HasPrefix(text[i:], "<=") || strings.HasPrefix(text[i:], ">="):
			i += 2
			tokens = append(tokens, token{tokenSymbol, text[start:i]})
		case strings.IndexByte("()[],.=<>+-", c) >= 0:
			i++
			tokens = append(tokens, token{tokenSymbol, text[start:i]})
		default:
			return nil, syntaxError(fmt.Sprintf("Invalid character in expression: %q", c))
		}
	}
	if len(tokens) == 0 {
		return nil, syntaxError("The expression can not be empty;")
	}
	return append(tokens, token{kind: tokenEnd}), nil
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

func wordEnd(text string, i int) int {
	for i < len(text) && (letter(text[i]) || digit(text[i])) {
		i++
	}
	return i
}
