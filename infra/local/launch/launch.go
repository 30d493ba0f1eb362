// Package launch runs the built local stack as a process of its own, for programs and tests
// that use it from outside.
package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"flashsale/infra/local/child"
)

// Stack is a local stack with data and ports of its own. Its Command may be changed before
// it is started.
type Stack struct {
	*child.Program
	API, Lambda, DynamoDB, SQS string // addresses
	Ports                      [4]int // in this order
}

// New prepares a stack without starting it, with its data in a folder. more are
// additional arguments, which override those set here.
func New(program, data string, more ...string) (*Stack, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("find the stack: %w", err)
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("find the stack (make host builds it): %w", err)
	}
	ports, err := child.FreePorts(4)
	if err != nil {
		return nil, err
	}
	s := &Stack{Ports: [4]int(ports)}
	args := []string{"-data", data}
	for i, part := range []struct {
		flag    string
		address *string
	}{{"-api-port", &s.API}, {"-lambda-port", &s.Lambda}, {"-dynamodb-port", &s.DynamoDB}, {"-sqs-port", &s.SQS}} {
		args = append(args, part.flag, strconv.Itoa(ports[i]))
		*part.address = fmt.Sprintf("http://127.0.0.1:%d", ports[i])
	}
	s.Program = &child.Program{Name: "stack", ReadyURL: s.API + "/_local/health", Command: child.Command{
		Path: program, Args: append(args, more...), Env: append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true"),
	}}
	return s, nil
}

// Built is the stack's program below the project's folder.
func Built(root string) string { return filepath.Join(root, ".build", "host", "local") }
