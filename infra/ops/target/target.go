// Package target finds a running system: the local stack by its address, or a deployed one by
// its CloudFormation stack. Callers then treat both alike.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"
	"golang.org/x/mod/semver"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// Target is a running system and where it was found.
type Target struct {
	client.System
	// Functions maps the logical ids of invocable functions to their names on AWS.
	Functions map[string]string
	Stack     string                       // the deployed stack's name; empty: it is none
	AWS       aws.Config                   // with which its services are called
	parts     map[string]map[string]string // once they were read
}

type Wanted struct {
	URL    string // of the local stack or of any API; empty: the stack's API
	Stack  string // its CloudFormation name
	Region string // empty: from the environment
	// Transport replaces the default one for the API's requests.
	Transport http.RoundTripper
}

// ErrNewer means that the system was found, and runs a newer version than this command.
var ErrNewer = errors.New("the stack is newer than the command")

// Find locates the parts of a system. It fails with client.ErrNoSystem if there is none. With ErrNewer it
// returns it, too: only who stops something may go on.
func Find(ctx context.Context, w Wanted) (Target, error) {
	p, err := find(ctx, w)
	if err == nil && semver.Compare("v"+p.Version, "v"+sale.ProgramVersion) > 0 {
		err = fmt.Errorf("%w: the stack runs %s, this is flashsale %s: get that release", ErrNewer, p.Version, sale.ProgramVersion)
	}
	return p, Explain(err)
}

func find(ctx context.Context, w Wanted) (p Target, err error) {
	if w.Stack != "" {
		return deployed(ctx, w)
	}
	u, err := client.CheckAddress(w.URL)
	if err != nil {
		return p, fmt.Errorf("%w: %w", client.ErrNoSystem, err)
	}
	if !client.Loopback(u.Hostname()) {
		p.Client = client.New(w.URL, client.Options{Transport: w.Transport})
		return p, nil // only the API's address is known
	}
	p.System, err = client.Find(ctx, w.URL, client.Options{Transport: w.Transport})
	p.Functions = map[string]string{
		client.SeedFunction: client.SeedFunction, client.ReconcileFunction: client.ReconcileFunction, client.OperateFunction: client.OperateFunction,
	}
	return p, err
}

func deployed(ctx context.Context, w Wanted) (p Target, err error) {
	if p.AWS, err = Config(ctx, w.Region); err != nil {
		return p, err
	}
	p.Stack = w.Stack
	found, err := DescribeStack(ctx, p.AWS, w.Stack)
	if err != nil {
		return p, err
	}
	outputs := map[string]string{}
	for _, o := range found.Outputs {
		outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	p.Table, p.OrderQueue, p.OrderDeadLetterQueue = outputs["TableName"], outputs["OrderQueueUrl"], outputs["OrderDeadLetterQueueUrl"]
	p.EventBus, p.Version = outputs["EventBusName"], outputs["Version"]
	p.Functions = map[string]string{
		client.SeedFunction: outputs["SeedFunctionName"], client.ReconcileFunction: outputs["ReconcileFunctionName"],
		client.OperateFunction: outputs["OperateFunctionName"],
	}
	// With a front, the API refuses direct requests.
	api := cmp.Or(w.URL, outputs["FrontUrl"], outputs["ApiUrl"])
	if api == "" || p.Table == "" || p.Functions[client.SeedFunction] == "" {
		return p, fmt.Errorf("%w: stack %s lacks the outputs ApiUrl, TableName or SeedFunctionName", client.ErrNoSystem, w.Stack)
	}
	functions := lambda.NewFromConfig(Within(p.AWS, 0)) // some take minutes
	p.Client = client.New(api, client.Options{Transport: w.Transport, Invoke: invoker(functions, p.Functions)})
	return p, nil
}

// DescribeStack asks CloudFormation for a stack. It fails with client.ErrNoSystem if that says that there is none,
// for which it has no code.
func DescribeStack(ctx context.Context, cfg aws.Config, stack string) (s types.Stack, err error) {
	found, err := cloudformation.NewFromConfig(cfg).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	said, ok := errors.AsType[smithy.APIError](err)
	switch {
	case ok && said.ErrorCode() == "ValidationError" && said.ErrorMessage() == "Stack with id "+stack+" does not exist", err == nil && len(found.Stacks) == 0:
		return s, fmt.Errorf("%w: there is no stack %s in the region %s of the account", client.ErrNoSystem, stack, cfg.Region)
	case err != nil:
		return s, fmt.Errorf("stack %s: %w", stack, err)
	}
	return found.Stacks[0], nil
}

// Parts are the physical ids of a deployed stack's resources by type and logical id; nil of any other system.
func (p *Target) Parts(ctx context.Context) (map[string]map[string]string, error) {
	if p.parts != nil || p.Stack == "" {
		return p.parts, nil
	}
	stacks, parts := cloudformation.NewFromConfig(p.AWS), map[string]map[string]string{}
	for pages := cloudformation.NewListStackResourcesPaginator(stacks, &cloudformation.ListStackResourcesInput{StackName: &p.Stack}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Explain(fmt.Errorf("stack %s: %w", p.Stack, err))
		}
		for _, part := range page.StackResourceSummaries {
			kind := aws.ToString(part.ResourceType)
			if parts[kind] == nil {
				parts[kind] = map[string]string{}
			}
			parts[kind][aws.ToString(part.LogicalResourceId)] = aws.ToString(part.PhysicalResourceId)
		}
	}
	p.parts = parts
	return parts, nil
}

const (
	// Tries bounds the tries of a command's call of AWS.
	Tries = 3
	// Pause is the time before each further try: a command survives a short outage.
	Pause = 2 * time.Second
)

// Retryer makes Tries with pauses of that length between them. The SDK's own retryer pauses for
// 50 and for 100 ms at most.
func Retryer(pause time.Duration) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = Tries
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return pause, nil })
	})
}

// invoker calls functions by their deployed names. The SDK retries calls that did not reach Lambda.
func invoker(api *lambda.Client, names map[string]string) client.Invoke {
	return func(ctx context.Context, function string, payload []byte) (client.Answer, error) {
		name := names[function]
		if name == "" {
			return client.Answer{}, fmt.Errorf("the stack's outputs do not name %s", function)
		}
		out, err := api.Invoke(ctx, &lambda.InvokeInput{FunctionName: &name, Payload: payload})
		if err != nil {
			return client.Answer{}, err
		}
		header := http.Header{}
		if failed := aws.ToString(out.FunctionError); failed != "" {
			header.Set(client.FunctionError, failed)
		}
		return client.Read(int(out.StatusCode), header, out.Payload), nil
	}
}

// issuer is a deployed stack's user pool; it has no id if the stack has none.
func (p *Target) issuer(ctx context.Context) (userPool, error) {
	parts, err := p.Parts(ctx)
	return userPool{
		api: cognito.NewFromConfig(p.AWS),
		id:  parts["AWS::Cognito::UserPool"]["UserPool"], client: parts["AWS::Cognito::UserPoolClient"]["UserPoolClient"],
	}, err
}

// ErrNoIssuer means that the system has no issuer of tokens of its own, as the local one or a stack's user pool.
var ErrNoIssuer = errors.New("the system has no issuer of its own: get access tokens from yours")

// Tokens gets the access tokens of n different users whose names have the prefix. It fails with ErrNoIssuer, and
// with ErrNotAllowed if the user pool does not admit test users.
func (p *Target) Tokens(ctx context.Context, prefix string, n int) ([]string, error) {
	var pool userPool
	var err error
	if !p.Local {
		if pool, err = p.issuer(ctx); err == nil && pool.id == "" {
			err = ErrNoIssuer
		}
	}
	if err != nil {
		return nil, err
	}
	if err := cli.Between("count", n, 1, maxUsers); err != nil {
		return nil, err
	}
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprintf("%s-%06d", prefix, i+1)
	}
	if p.Local {
		return p.Client.Tokens(ctx, users, func() {})
	}
	return pool.tokens(ctx, users)
}
