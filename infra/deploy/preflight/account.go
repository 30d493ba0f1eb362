package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// programTime bounds one run of another program.
const programTime = time.Minute

// Program is a command that prints JSON or lines. Its first word is the program.
type Program struct {
	Words []string
	Env   []string // in addition to this process's environment
}

// AWS returns the AWS CLI for a region, for services whose SDK package is not used here.
func AWS(region string) Program {
	p := Program{Words: []string{"aws"}, Env: []string{"AWS_PAGER=", "AWS_DEFAULT_OUTPUT=json"}}
	if region != "" {
		p.Words = append(p.Words, "--region", region)
	}
	return p
}

// Run returns the program's output. An error includes its standard error.
func (p Program) Run(ctx context.Context, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	words := append(append([]string{}, p.Words...), arguments...)
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Env = append(os.Environ(), p.Env...)
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s %s: %w: %s", p.Words[0], strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// Into runs the program and reads its JSON.
func (p Program) Into(ctx context.Context, answer any, arguments ...string) error {
	out, err := p.Run(ctx, arguments...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read the output of %s %s: %w", p.Words[0], strings.Join(arguments, " "), err)
	}
	return nil
}

// Cloud is an AWS account.
type Cloud struct {
	Lambda   *lambda.Client
	DynamoDB *dynamodb.Client
	CLI      Program
}

// Limits implements Account. A stack that does not exist yet has nothing reserved.
func (c Cloud) Limits(ctx context.Context, stack string) (Limits, error) {
	var l Limits
	var who struct{ Account, Arn string }
	if err := c.CLI.Into(ctx, &who, "sts", "get-caller-identity"); err != nil {
		return l, err
	}
	l.Account = who.Account + " as " + who.Arn
	settings, err := c.Lambda.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return l, fmt.Errorf("get Lambda's account settings: %w", err)
	}
	if settings.AccountLimit == nil {
		return l, errors.New("get Lambda's account settings: the answer has no limit")
	}
	l.Concurrency = int(settings.AccountLimit.ConcurrentExecutions)
	l.Unreserved = int(aws.ToInt32(settings.AccountLimit.UnreservedConcurrentExecutions))
	limits, err := c.DynamoDB.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
	if err != nil {
		return l, fmt.Errorf("describe DynamoDB's limits: %w", err)
	}
	l.TableWrites = int(aws.ToInt64(limits.TableMaxWriteCapacityUnits))
	var gateway struct {
		ThrottleSettings struct {
			RateLimit  float64 `json:"rateLimit"`
			BurstLimit int     `json:"burstLimit"`
		} `json:"throttleSettings"`
	}
	if err := c.CLI.Into(ctx, &gateway, "apigateway", "get-account"); err != nil {
		return l, err
	}
	l.Rate, l.Burst = gateway.ThrottleSettings.RateLimit, gateway.ThrottleSettings.BurstLimit
	l.Own, err = c.reserved(ctx, stack)
	return l, err
}

// reserved returns the concurrency that the stack's functions have reserved so far.
func (c Cloud) reserved(ctx context.Context, stack string) (int, error) {
	var stacks struct {
		StackSummaries []struct{ StackName, StackStatus string }
	}
	if err := c.CLI.Into(ctx, &stacks, "cloudformation", "list-stacks"); err != nil {
		return 0, err
	}
	exists := false
	for _, s := range stacks.StackSummaries {
		exists = exists || s.StackName == stack && s.StackStatus != "DELETE_COMPLETE" && s.StackStatus != "REVIEW_IN_PROGRESS"
	}
	if !exists {
		return 0, nil
	}
	var parts struct {
		StackResourceSummaries []struct{ ResourceType, PhysicalResourceId string }
	}
	if err := c.CLI.Into(ctx, &parts, "cloudformation", "list-stack-resources", "--stack-name", stack); err != nil {
		return 0, err
	}
	sum := 0
	for _, part := range parts.StackResourceSummaries {
		if part.ResourceType != "AWS::Lambda::Function" || part.PhysicalResourceId == "" {
			continue
		}
		name := part.PhysicalResourceId
		answer, err := c.Lambda.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
		if err != nil {
			return 0, fmt.Errorf("get the concurrency of %s: %w", name, err)
		}
		sum += int(aws.ToInt32(answer.ReservedConcurrentExecutions))
	}
	return sum, nil
}

// Git is a work tree.
type Git struct{ Dir string }

// Uncommitted implements Tree.
func (g Git) Uncommitted(ctx context.Context) ([]string, error) {
	out, err := Program{Words: []string{"git", "-C", g.Dir}}.Run(ctx, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' }), nil
}
