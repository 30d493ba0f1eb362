// Package place finds a running system: the local stack by its address, or a
// deployed one by its CloudFormation stack. Whoever uses it then seeds sales and
// sends requests in the same way to both.
//
// A line in here knows how a system is reached. It knows nothing of what is done
// there, and does nothing by itself but ask where things are.
package place

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"flashsale/infra/deploy/preflight"
	"flashsale/infra/deploy/tokens"
)

const (
	// healthTime bounds the question whether a local stack answers, seedTime the
	// seeding of a sale: SeedFunction itself has two minutes.
	healthTime = 5 * time.Second
	seedTime   = 2 * time.Minute
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer = 64 << 10
)

// Place is a running system.
type Place struct {
	URL          string // of the API, without a slash at the end
	Table        string // empty if not known
	SeedFunction string // empty: nobody can be asked for a sale
	// ReconcileFunction gives receipts; empty if not known.
	ReconcileFunction string
	// OrderQueue and OrderDeadLetterQueue are URLs; empty if not known.
	OrderQueue, OrderDeadLetterQueue string
	Stack                            string // CloudFormation's name, empty for the local stack
	Local                            bool
	// Parts are the physical ids of a deployed stack's resources by logical id, by
	// type.
	Parts map[string]map[string]string

	lambda *lambda.Client
	pool   tokens.Pool // without an id where the stack has no issuer of its own
}

// Wanted says which system is meant.
type Wanted struct {
	URL    string // of the local stack, or of any API; empty: the stack's own
	Stack  string // CloudFormation's name
	Region string // empty: the environment's
}

// ErrNowhere: there is no such system.
var ErrNowhere = errors.New("no system found")

// Find asks where the parts of a system are.
func Find(ctx context.Context, w Wanted) (Place, error) {
	return find(ctx, w, preflight.AWS(w.Region))
}

func find(ctx context.Context, w Wanted, cli preflight.Program) (Place, error) {
	p := Place{URL: strings.TrimSuffix(w.URL, "/"), Stack: w.Stack}
	if w.Stack != "" {
		if err := p.deployed(ctx, cli); err != nil {
			return p, err
		}
		cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(w.Region))
		if err != nil {
			return p, fmt.Errorf("load AWS configuration: %w", err)
		}
		p.lambda = lambda.NewFromConfig(cfg)
		p.pool = tokens.Pool{
			API: cognito.NewFromConfig(cfg),
			ID:  p.Parts["AWS::Cognito::UserPool"]["UserPool"], Client: p.Parts["AWS::Cognito::UserPoolClient"]["UserPoolClient"],
		}
		return p, nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return p, fmt.Errorf("%w: %q is no http or https address", ErrNowhere, w.URL)
	}
	if !loopback(u.Hostname()) {
		return p, nil // an API of which nothing but its address is known
	}
	return p, p.local(ctx)
}

// loopback does not ask DNS: what a name means may change until it is dialled.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// local asks a local stack for its parts.
func (p *Place) local(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	body, err := get(ctx, p.URL+"/_local/health")
	var parts struct{ API, Lambda, Table string }
	if err == nil {
		err = json.Unmarshal(body, &parts)
	}
	if err == nil && (parts.Lambda == "" || parts.Table == "") {
		err = errors.New("it is no local stack")
	}
	if err != nil {
		return fmt.Errorf("%w at %s (make run starts one): %w", ErrNowhere, p.URL, err)
	}
	p.Local, p.Table, p.SeedFunction, p.ReconcileFunction = true, parts.Table, "SeedFunction", "ReconcileFunction"
	p.lambda = lambda.New(lambda.Options{
		BaseEndpoint: &parts.Lambda, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return nil
}

func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %d", address, response.StatusCode)
	}
	return body, err
}

// deployed reads the outputs and the resources of a CloudFormation stack.
func (p *Place) deployed(ctx context.Context, cli preflight.Program) error {
	var stacks struct {
		Stacks []struct {
			Outputs []struct{ OutputKey, OutputValue string }
		}
	}
	if err := cli.Into(ctx, &stacks, "cloudformation", "describe-stacks", "--stack-name", p.Stack); err != nil {
		return fmt.Errorf("%w: stack %s: %w", ErrNowhere, p.Stack, err)
	}
	outputs := map[string]string{}
	for _, s := range stacks.Stacks {
		for _, o := range s.Outputs {
			outputs[o.OutputKey] = o.OutputValue
		}
	}
	p.Table, p.SeedFunction = outputs["TableName"], outputs["SeedFunctionName"]
	p.ReconcileFunction = outputs["ReconcileFunctionName"]
	p.OrderQueue, p.OrderDeadLetterQueue = outputs["OrderQueueUrl"], outputs["OrderDeadLetterQueueUrl"]
	if p.URL == "" {
		// With a front, the API itself turns everybody else away.
		p.URL = strings.TrimSuffix(cmp.Or(outputs["FrontUrl"], outputs["ApiUrl"]), "/")
	}
	if p.URL == "" || p.Table == "" || p.SeedFunction == "" {
		return fmt.Errorf("%w: stack %s lacks the outputs ApiUrl, TableName or SeedFunctionName", ErrNowhere, p.Stack)
	}
	var parts struct {
		StackResourceSummaries []struct{ ResourceType, LogicalResourceId, PhysicalResourceId string }
	}
	if err := cli.Into(ctx, &parts, "cloudformation", "list-stack-resources", "--stack-name", p.Stack); err != nil {
		return fmt.Errorf("%w: stack %s: %w", ErrNowhere, p.Stack, err)
	}
	p.Parts = map[string]map[string]string{}
	for _, part := range parts.StackResourceSummaries {
		if p.Parts[part.ResourceType] == nil {
			p.Parts[part.ResourceType] = map[string]string{}
		}
		p.Parts[part.ResourceType][part.LogicalResourceId] = part.PhysicalResourceId
	}
	return nil
}

// Port is the API's, as the operator program takes it for a local stack.
func (p *Place) Port() string {
	u, err := url.Parse(p.URL)
	if err != nil || u.Port() == "" {
		return "80"
	}
	return u.Port()
}

// Sale is one to be made.
type Sale struct {
	ID, Name          string
	OpensAt, ClosesAt time.Time
	Stock, Shards     int
}

// Seed makes a sale through SeedFunction.
func (p *Place) Seed(ctx context.Context, s Sale) error {
	err := p.Ask(ctx, map[string]any{
		"action": "create", "saleId": s.ID, "name": s.Name, "stock": s.Stock, "shards": s.Shards,
		"opensAt": s.OpensAt.UTC().Format(time.RFC3339), "closesAt": s.ClosesAt.UTC().Format(time.RFC3339),
	}, nil)
	if err != nil {
		return fmt.Errorf("seed sale %s: %w", s.ID, err)
	}
	return nil
}

// Refusal is SeedFunction's own error.
type Refusal struct {
	Code   string `json:"errorType"`    // of the project's vocabulary, if the function itself failed
	Detail string `json:"errorMessage"` // the code, and what else the caller may know
}

func (r *Refusal) Error() string { return fmt.Sprintf("SeedFunction answers %.300q", r.Detail) }

// Ask sends a request to SeedFunction by lambda:InvokeFunction, waits, and decodes
// its answer, unless that is nil. The error is a *Refusal if the function failed.
func (p *Place) Ask(ctx context.Context, request, answer any) error {
	if p.lambda == nil || p.SeedFunction == "" {
		return errors.New("nobody to ask; name the stack, or a sale that exists")
	}
	return p.invoke(ctx, p.SeedFunction, request, answer)
}

// invoke asks one of the system's functions. It fails with a *Refusal where the
// function itself does; answer may be nil.
func (p *Place) invoke(ctx context.Context, function string, request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, seedTime)
	defer cancel()
	payload, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	out, err := p.lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	if err != nil {
		return fmt.Errorf("invoke %s: %w", function, err)
	}
	if aws.ToString(out.FunctionError) != "" {
		var refusal Refusal
		if json.Unmarshal(out.Payload, &refusal) != nil || refusal.Detail == "" {
			refusal.Detail = string(out.Payload)
		}
		return &refusal
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(out.Payload, answer); err != nil {
		return fmt.Errorf("read %s's answer: %w", function, err)
	}
	return nil
}

// ErrUnbalanced: a sale's books do not balance.
var ErrUnbalanced = errors.New("the books do not balance")

// Receipt asks ReconcileFunction for a sale's books, and says them in a few words. It
// fails with ErrUnbalanced when they do not balance or an order is not confirmed.
func (p *Place) Receipt(ctx context.Context, saleID string) (string, error) {
	var answer struct {
		Receipts []struct {
			SaleID          string
			Seeded, Stock   int64
			Claims, Pending int64
			Balanced        bool
			Findings        []string
		}
	}
	if err := p.invoke(ctx, p.ReconcileFunction, map[string]string{"saleId": saleID}, &answer); err != nil {
		return "", fmt.Errorf("read receipt: %w", err)
	}
	if len(answer.Receipts) != 1 || answer.Receipts[0].SaleID != saleID {
		return "", fmt.Errorf("read receipt: ReconcileFunction answers with %d receipts", len(answer.Receipts))
	}
	r := answer.Receipts[0]
	words := fmt.Sprintf("%d seeded = %d left + %d claims", r.Seeded, r.Stock, r.Claims)
	if !r.Balanced || r.Pending > 0 {
		return words, fmt.Errorf("%w: %s, %d pending, %q", ErrUnbalanced, words, r.Pending, r.Findings)
	}
	return words, nil
}

// HasIssuer reports whether the system has an issuer of its own, of which tokens can
// be had: the local one, or a deployed stack's user pool.
func (p *Place) HasIssuer() bool { return p.Local || p.pool.ID != "" }

// Tokens are access tokens of n users of that prefix, each of another user. It fails
// with tokens.ErrNotAllowed where the user pool does not let test users in.
func (p *Place) Tokens(ctx context.Context, prefix string, n int) ([]string, error) {
	if !p.HasIssuer() {
		return nil, errors.New("make tokens: the system has no issuer of its own; get them from yours")
	}
	if !p.Local {
		return p.pool.Make(ctx, prefix, n)
	}
	if n < 1 || n > tokens.MaxUsers {
		return nil, fmt.Errorf("make %d tokens: must be 1 to %d", n, tokens.MaxUsers)
	}
	made := make([]string, n)
	for i := range made {
		body, err := get(ctx, fmt.Sprintf("%s/_local/token?sub=%s-%06d", p.URL, url.QueryEscape(prefix), i+1))
		if err != nil {
			return nil, fmt.Errorf("make tokens: %w", err)
		}
		made[i] = string(body)
	}
	return made, nil
}
