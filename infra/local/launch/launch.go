// Package launch runs the built local stack as a process of its own, for programs and tests
// that use it from outside.
package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/local/child"
	"flashsale/infra/local/template"
)

// Stack is a local stack with data and ports of its own. Its Command may be changed before
// it is started.
type Stack struct {
	*child.Program
	API, Lambda, DynamoDB, SQS, Operate string // addresses
	Ports                               [5]int // in this order
	// Output is the end of what the stack prints.
	Output *child.Tail
}

// New prepares a stack without starting it, with its data in a folder, or in memory without
// one. more are additional arguments, which override those set here.
func New(program, data string, more ...string) (*Stack, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("find the stack: %w", err)
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("find the stack (make host builds it): %w", err)
	}
	ports, err := child.FreePorts(5)
	if err != nil {
		return nil, err
	}
	s := &Stack{Ports: [5]int(ports), Output: &child.Tail{}}
	args := []string{"-data", data}
	for i, part := range []struct {
		flag    string
		address *string
	}{{"-api-port", &s.API}, {"-lambda-port", &s.Lambda}, {"-dynamodb-port", &s.DynamoDB}, {"-sqs-port", &s.SQS}, {"-operate-port", &s.Operate}} {
		args = append(args, part.flag, strconv.Itoa(ports[i]))
		*part.address = fmt.Sprintf("http://127.0.0.1:%d", ports[i])
	}
	s.Program = &child.Program{Name: "stack", ReadyURL: s.API + "/_local/health", Command: child.Command{
		Path: program, Args: append(args, more...), Env: append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true"),
		Output: s.Output,
	}}
	return s, nil
}

// StartWithin starts the stack and waits until it serves. Its error has what the stack printed.
func (s *Stack) StartWithin(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.Output)
	}
	return nil
}

// A local service asks for credentials but does not check them.
var local = credentials.NewStaticCredentialsProvider("local", "local", "")

func Table(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{BaseEndpoint: &endpoint, Region: template.Region, Credentials: local})
}

func Queues(endpoint string) *sqs.Client {
	return sqs.New(sqs.Options{BaseEndpoint: &endpoint, Region: template.Region, Credentials: local})
}

// Link makes a folder that a stack with -root takes for the project. Its links lead to the
// project's files, so each can be replaced.
func Link(project, folder string) error {
	project, err := filepath.Abs(project)
	if err != nil {
		return fmt.Errorf("link project: %w", err)
	}
	programs, err := filepath.Glob(filepath.Join(project, ".build/host/*Function/bootstrap"))
	if err != nil {
		return fmt.Errorf("find functions: %w", err)
	}
	for _, from := range append(programs, filepath.Join(project, "template.yaml"), filepath.Join(project, ".build/engine")) {
		name, err := filepath.Rel(project, from)
		if err != nil {
			return fmt.Errorf("link project: %w", err)
		}
		to := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Symlink(from, to)); err != nil {
			return fmt.Errorf("link project: %w", err)
		}
	}
	return nil
}

// Built is the stack's program below the project's folder.
func Built(root string) string { return filepath.Join(root, ".build", "host", "local") }
