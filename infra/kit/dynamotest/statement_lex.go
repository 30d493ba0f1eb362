package dynamotest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxStatement is the longest PartiQL statement DynamoDB reads, in bytes.
const maxStatement = 8192

// lexer cuts a PartiQL statement into the tokens of expressions, so that one
// parser reads both: a quoted name becomes a #name, a parameter and a literal
// become :values.
type lexer struct {
	text     string
	at       int
	tokens   []token
	literals item
	// parameters counts the question marks; the n-th is the value parameter(n).
	parameters int
}

func parameter(n int) string { return ":p" + strconv.Itoa(n) }

func lexStatement(text string) (*lexer, error) {
	l := &lexer{text: text, literals: item{}}
	for l.at < len(text) {
		if err := l.one(); err != nil {
			return nil, err
		}
	}
	l.tokens = append(l.tokens, token{kind: tokenEnd})
	return l, nil
}

func (l *lexer) one() error {
	start, rest := l.at, l.text[l.at:]
	c := rest[0]
	switch {
	case strings.IndexByte(" \t\r\n", c) >= 0:
		l.at++
	case letter(c):
		l.at = wordEnd(l.text, start)
		l.add(tokenWord, l.text[start:l.at])
	case c == '?':
		l.at++
		l.add(tokenValue, parameter(l.parameters))
		l.parameters++
	case c == '"':
		name, err := l.quoted()
		if err != nil || name == "" {
			return cmp.Or(err, error(syntaxError("A name must not be empty")))
		}
		l.add(tokenName, "#"+name)
	case c == '\'':
		value, err := l.quoted()
		if err != nil {
			return err
		}
		l.literal(&types.AttributeValueMemberS{Value: value})
	case digit(c):
		return l.number()
	case strings.HasPrefix(rest, "<>") || strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, ">="):
		l.at += 2
		l.add(tokenSymbol, rest[:2])
	case strings.IndexByte("(){}[],.:*=<>+-", c) >= 0:
		l.at++
		l.add(tokenSymbol, rest[:1])
	default:
		return syntaxError(fmt.Sprintf("Unexpected character: %q", c))
	}
	return nil
}

func (l *lexer) add(k kind, text string) { l.tokens = append(l.tokens, token{k, text}) }

func (l *lexer) literal(v types.AttributeValue) {
	name := ":l" + strconv.Itoa(len(l.literals))
	l.literals[name] = v
	l.add(tokenValue, name)
}

// quoted reads a text in quotation marks; a doubled mark stands for itself.
func (l *lexer) quoted() (string, error) {
	mark := l.text[l.at]
	var out strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		if l.text[i] != mark {
			out.WriteByte(l.text[i])
			continue
		}
		if i+1 < len(l.text) && l.text[i+1] == mark {
			out.WriteByte(mark)
			i++
			continue
		}
		l.at = i + 1
		return out.String(), nil
	}
	return "", syntaxError("Unterminated text in quotation marks")
}

// number reads the digits of a literal or, after "[", of a list index.
func (l *lexer) number() error {
	end := l.at
	for end < len(l.text) && (digit(l.text[end]) || l.text[end] == '.') {
		end++
	}
	text := l.text[l.at:end]
	l.at = end
	if n := len(l.tokens); n > 0 && l.tokens[n-1].is("[") {
		l.add(tokenIndex, text)
		return nil
	}
	n, err := parseNumber(text)
	if err != nil {
		return syntaxError("Not a number: " + text)
	}
	l.literal(&types.AttributeValueMemberN{Value: n.String()})
	return nil
}
