package dynamotest

import (
	_ "embed"
	"strings"
)

// reservedText are the words which DynamoDB does not accept bare as an attribute name, as
// "Reserved Words in DynamoDB" of the Developer Guide lists them, misspellings included.
//
//go:embed reserved.txt
var reservedText string

var reservedWords = func() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(reservedText) {
		set[word] = true
	}
	return set
}()

// reserved reports whether the name is a reserved word, in any letter case.
func reserved(name string) bool { return reservedWords[strings.ToUpper(name)] }
