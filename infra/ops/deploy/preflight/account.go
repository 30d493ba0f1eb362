package preflight

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"flashsale/infra/kit/books"
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
	l.TableReads, l.TableWrites = int(aws.ToInt64(limits.TableMaxReadCapacityUnits)), int(aws.ToInt64(limits.TableMaxWriteCapacityUnits))
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
	err = c.deployed(ctx, stack, &l)
	return l, err
}

// deployed adds what the stack has so far: its parameters, the concurrency that its functions
// have reserved, and the warm throughput of its tables.
func (c Cloud) deployed(ctx context.Context, stack string, l *Limits) error {
	var stacks struct {
		StackSummaries []struct{ StackName, StackStatus string }
	}
	if err := c.CLI.Into(ctx, &stacks, "cloudformation", "list-stacks"); err != nil {
		return err
	}
	for _, s := range stacks.StackSummaries {
		if s.StackName == stack && s.StackStatus != "DELETE_COMPLETE" && s.StackStatus != "REVIEW_IN_PROGRESS" {
			l.Status = s.StackStatus
		}
	}
	if l.Status == "" {
		return nil
	}
	var found struct {
		Stacks []struct {
			Parameters []struct{ ParameterKey, ParameterValue string }
		}
	}
	if err := c.CLI.Into(ctx, &found, "cloudformation", "describe-stacks", "--stack-name", stack); err != nil {
		return err
	}
	l.Parameters, l.Tables = map[string]string{}, map[string]Warmth{}
	for _, s := range found.Stacks {
		for _, p := range s.Parameters {
			l.Parameters[p.ParameterKey] = p.ParameterValue
		}
	}
	var parts struct {
		StackResourceSummaries []struct{ ResourceType, LogicalResourceId, PhysicalResourceId, ResourceStatus string }
	}
	if err := c.CLI.Into(ctx, &parts, "cloudformation", "list-stack-resources", "--stack-name", stack); err != nil {
		return err
	}
	for _, part := range parts.StackResourceSummaries {
		name := part.PhysicalResourceId
		// A stack whose creation failed lists what it has deleted, too.
		if name == "" || strings.HasPrefix(part.ResourceStatus, "DELETE_") {
			continue
		}
		switch part.ResourceType {
		case "AWS::Lambda::Function":
			answer, err := c.Lambda.GetFunctionConcurrency(ctx, &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
			if err != nil {
				return fmt.Errorf("get the concurrency of %s: %w", name, err)
			}
			l.Own += int(aws.ToInt32(answer.ReservedConcurrentExecutions))
		case "AWS::DynamoDB::Table":
			answer, err := c.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
			if err != nil {
				return fmt.Errorf("describe the table %s: %w", name, err)
			}
			if answer.Table != nil && answer.Table.WarmThroughput != nil {
				warm := answer.Table.WarmThroughput
				l.Tables[part.LogicalResourceId] = Warmth{int(aws.ToInt64(warm.ReadUnitsPerSecond)), int(aws.ToInt64(warm.WriteUnitsPerSecond))}
			}
		}
	}
	return nil
}

// Git is a work tree.
type Git struct{ Dir string }

// Uncommitted implements Tree.
func (g Git) Uncommitted(ctx context.Context) ([]string, error) {
	out, err := Program{Words: []string{"git", "-C", g.Dir}}.Run(ctx, "status", "--porcelain")
	if _, missing := os.Stat(filepath.Join(g.Dir, ".git")); err != nil && errors.Is(missing, fs.ErrNotExist) {
		return nil, ErrNoClone
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' }), nil
}

// Tables checks a table that exists before the deployment, by its name. The stream is empty
// if nobody reads it.
type Tables interface {
	Check(ctx context.Context, table, stream string) error
	// Balanced recounts every sale of the table, and fails with the first finding.
	Balanced(ctx context.Context, table string) error
}

// existingTable checks the table that a deployment uses instead of one of the stack's own.
func existingTable(ctx context.Context, r *report, d Deployment) {
	const check = "existing table"
	table, stream := value(d.Demand, "ExistingTable"), value(d.Demand, "ExistingTableStreamArn")
	events := value(d.Demand, "PublishEvents") == "true"
	if table == "" {
		if stream != "" {
			r.add(Warning, check, "ExistingTableStreamArn is unused without ExistingTable")
		}
		return
	}
	if stream != "" && !strings.Contains(stream, ":table/"+table+"/stream/") {
		r.add(Failed, check, "ExistingTableStreamArn=%s is the stream of another table than ExistingTable=%s; a restored table has a stream of its own, or none", stream, table)
		return
	}
	for _, name := range []string{"WarmWriteUnitsPerSecond", "MaxWriteRequestUnits"} {
		if v := value(d.Demand, name); v != "" && v != "0" {
			r.add(Warning, check, "%s=%s has no effect on %s: set it with aws dynamodb update-table", name, v, table)
		}
	}
	if d.Tables == nil {
		r.add(Warning, check, "%s was not checked", table)
		return
	}
	if !events {
		stream = ""
	}
	err := d.Tables.Check(ctx, table, stream)
	r.check(err == nil, check, "%s%s", table, text(err))
}

// otherTable finds a deployment after which the functions use another table than before.
// While a canary runs, both would sell the same units.
func otherTable(ctx context.Context, r *report, d Deployment, l Limits) {
	const check = "existing table"
	was, will := l.Parameters["ExistingTable"], value(d.Demand, "ExistingTable")
	if was == will {
		return
	}
	if will != "" && d.Tables != nil {
		err := d.Tables.Balanced(ctx, will)
		r.check(err == nil, check, "the receipts of %s balance%s", will, text(err))
	}
	if l.Status == "" {
		return
	}
	if will == "" {
		r.add(Failed, check, "the stack uses the table %s, and this deployment would give it a new, empty one; set ExistingTable=%s", was, was)
		return
	}
	if kind := value(d.Demand, "DeploymentType"); kind != "AllAtOnce" {
		r.add(Failed, check, "DeploymentType=%s would sell from two tables at a time; set DeploymentType=AllAtOnce for this deployment", kind)
		return
	}
	r.add(Warning, check, "from this deployment on the functions use %s; what the table before it holds is kept, and nobody reads it", will)
}

// DynamoDB checks tables of an account and region.
type DynamoDB struct{ Client books.DynamoDB }

// recountTime bounds the recount of a table, which reads every item in it.
const recountTime = 20 * time.Minute

// Balanced implements Tables. It reads the claims, orders and refunds of every sale, so nothing
// that the table says of itself can stand in for that. Nobody has worked on the table for a
// while, so nothing counts as overdue.
func (c DynamoDB) Balanced(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	sales, err := books.Sales(ctx, c.Client, name)
	if err != nil {
		return fmt.Errorf("list its sales: %w", err)
	}
	for _, s := range sales {
		receipt, err := books.Recount(ctx, c.Client, name, s.SaleID, books.Options{Overdue: 365 * 24 * time.Hour})
		switch {
		case err != nil:
			return fmt.Errorf("recount sale %s: %w", s.SaleID, err)
		case !receipt.Balanced:
			return fmt.Errorf("sale %s: %v: make restore-check TABLE=%s", s.SaleID, receipt.Findings[0], name)
		}
	}
	return nil
}

// Check implements Tables. What a restored table lacks is named, because DynamoDB restores
// the items and not the settings.
func (c DynamoDB) Check(ctx context.Context, name, stream string) error {
	answer, err := c.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return fmt.Errorf("describe it: %w", err)
	}
	t := answer.Table
	if t == nil {
		return errors.New("describe it: the answer has no table")
	}
	var keys []string
	for _, k := range t.KeySchema {
		keys = append(keys, aws.ToString(k.AttributeName)+" "+string(k.KeyType))
	}
	if got := strings.Join(keys, ", "); got != "pk HASH, sk RANGE" {
		return fmt.Errorf("it is no ledger: its key is %s", got)
	}
	switch {
	case t.TableStatus != types.TableStatusActive && t.TableStatus != types.TableStatusUpdating:
		return fmt.Errorf("it is %s: wait until it is ACTIVE", t.TableStatus)
	case !aws.ToBool(t.DeletionProtectionEnabled):
		return errors.New("it can be deleted: aws dynamodb update-table --table-name NAME --deletion-protection-enabled")
	case stream == "":
		return nil
	case aws.ToString(t.LatestStreamArn) != stream:
		return fmt.Errorf("its stream is %q, not ExistingTableStreamArn=%s", aws.ToString(t.LatestStreamArn), stream)
	case t.StreamSpecification == nil || !aws.ToBool(t.StreamSpecification.StreamEnabled) || t.StreamSpecification.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return errors.New("its stream is off, or has not both images (NEW_AND_OLD_IMAGES)")
	}
	return nil
}
