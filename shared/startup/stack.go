package startup

import (
	"os"
	"strings"
)

// Stack is the name by which payments tell this stack from others on the same account of a payment provider: the first
// eight characters of the last part of STACK_ID, CloudFormation's arn:…:stack/flashsale-prod/51af3dc0-da77-…. It is ""
// if there is none.
func Stack() string {
	id := os.Getenv("STACK_ID")
	name, _, _ := strings.Cut(id[strings.LastIndexByte(id, '/')+1:], "-")
	return name
}
