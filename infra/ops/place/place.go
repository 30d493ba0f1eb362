// Package place finds a running system: the local stack by its address, or a deployed one by
// its CloudFormation stack. Callers then treat both alike.
package place

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"golang.org/x/mod/semver"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// Place is a running system and where it was found.
type Place struct {
	client.System
	// Functions maps the logical ids of invocable functions to their names on AWS.
	Functions map[string]string
	Region    string // of a deployed stack; empty: from the environment
	// Parts holds the physical ids of a deployed stack's resources by type and logical id.
	Parts map[string]map[string]string
	users userPool    // has no id if the stack has no user pool
	sts   *sts.Client // of a deployed stack's account
}

// Wanted selects a system.
type Wanted struct {
	URL    string // of the local stack or of any API; empty: the stack's API
	Stack  string // its CloudFormation name
	Region string // empty: from the environment
	// Transport replaces the default one for the API's requests.
	Transport http.RoundTripper
}

// ErrNewer means that the system was found, and runs a newer release than this command.
var ErrNewer = errors.New("the stack is newer than the command")

// Find locates the parts of a system. It fails with client.ErrNoSystem if there is none. With ErrNewer it
// returns it, too: only who stops something may go on.
func Find(ctx context.Context, w Wanted) (Place, error) {
	p, err := find(ctx, w)
	if err == nil && semver.Compare("v"+p.Version, "v"+sale.Release) > 0 {
		err = fmt.Errorf("%w: the stack runs %s, this is flashsale %s: get that release", ErrNewer, p.Version, sale.Release)
	}
	return p, Explain(err)
}

func find(ctx context.Context, w Wanted) (p Place, err error) {
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

func deployed(ctx context.Context, w Wanted) (p Place, err error) {
	aws := awscli.CLI{Region: w.Region}
	var stacks struct {
		Stacks []struct {
			Outputs []struct{ OutputKey, OutputValue string }
		}
	}
	err = aws.Read(ctx, &stacks, "cloudformation", "describe-stacks", "--stack-name", w.Stack)
	switch {
	case err != nil && strings.Contains(err.Error(), "does not exist"):
		return p, fmt.Errorf("%w: there is no stack %s in the region %s of the account", client.ErrNoSystem, w.Stack, cmp.Or(w.Region, "of the credentials"))
	case err != nil:
		return p, fmt.Errorf("%w: stack %s: %w", client.ErrNoSystem, w.Stack, err)
	}
	p.Region = w.Region
	outputs := map[string]string{}
	for _, s := range stacks.Stacks {
		for _, o := range s.Outputs {
			outputs[o.OutputKey] = o.OutputValue
		}
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
	var parts struct {
		StackResourceSummaries []struct{ ResourceType, LogicalResourceId, PhysicalResourceId string }
	}
	if err := aws.Read(ctx, &parts, "cloudformation", "list-stack-resources", "--stack-name", w.Stack); err != nil {
		return p, fmt.Errorf("%w: stack %s: %w", client.ErrNoSystem, w.Stack, err)
	}
	p.Parts = map[string]map[string]string{}
	for _, part := range parts.StackResourceSummaries {
		if p.Parts[part.ResourceType] == nil {
			p.Parts[part.ResourceType] = map[string]string{}
		}
		p.Parts[part.ResourceType][part.LogicalResourceId] = part.PhysicalResourceId
	}
	cfg, err := Config(ctx, w.Region)
	if err != nil {
		return p, err
	}
	p.Client = client.New(api, client.Options{Transport: w.Transport, Invoke: invoker(lambda.NewFromConfig(cfg), p.Functions)})
	p.sts = sts.NewFromConfig(cfg)
	p.users = userPool{
		api: cognito.NewFromConfig(cfg),
		id:  p.Parts["AWS::Cognito::UserPool"]["UserPool"], client: p.Parts["AWS::Cognito::UserPoolClient"]["UserPoolClient"],
	}
	return p, nil
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

// Config loads the AWS configuration of a command, with its retries; region "" is the environment's.
func Config(ctx context.Context, region string, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	options = append([]func(*config.LoadOptions) error{
		config.WithRegion(region), config.WithRetryer(func() aws.Retryer { return Retryer(Pause) }), config.WithLogger(logging.Nop{}),
	}, options...)
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("load AWS configuration: %w", err)
	}
	return cfg, nil
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

// HasIssuer reports whether the system has its own issuer of tokens: the local one or a
// deployed stack's user pool.
func (p *Place) HasIssuer() bool { return p.Local || p.users.id != "" }

// Tokens gets the access tokens of n different users whose names have the prefix. It fails
// with ErrNotAllowed if the user pool does not admit test users.
func (p *Place) Tokens(ctx context.Context, prefix string, n int) ([]string, error) {
	if !p.HasIssuer() {
		return nil, errors.New("the system has no issuer of its own: get access tokens from yours")
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
	return p.users.tokens(ctx, users)
}
