package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"flashsale/infra/deploy/demand"
	"flashsale/infra/deploy/preflight"
	"flashsale/infra/deploy/samconfig"
)

// production is the environment whose buyers are real.
const production = "prod"

// environment reads the file's section and lays the command line over it.
func (f files) environment(overrides []string) (samconfig.Environment, error) {
	e, err := samconfig.Read(*f.config, *f.env)
	if err != nil {
		return e, err
	}
	return e, e.Override(overrides...)
}

func runParameters(_ context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("parameters", complaints)
	if err := f.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	e, err := file.environment(f.Args())
	if err != nil {
		return err
	}
	d, err := demand.Read(*file.template, e.Region, e.Parameters)
	if err != nil {
		return err
	}
	// The SAM CLI keeps the stack's previous value of a parameter that it is not
	// given. What was taken out of the file must go back to the template's default.
	for _, p := range d.Parameters {
		if _, given := e.Parameters[p.Name]; !given && !p.Missing && !p.Kept {
			e.Parameters[p.Name] = p.Value
		}
	}
	arguments, err := e.Arguments()
	if err != nil {
		return err
	}
	for _, argument := range arguments {
		fmt.Fprintln(out, argument)
	}
	return nil
}

func runPreflight(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("preflight", complaints)
	offline := f.Bool("offline", false, "ask neither AWS nor the issuer")
	if err := f.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	e, err := file.environment(f.Args())
	if err != nil {
		return err
	}
	d := preflight.Deployment{
		Stack: e.StackName, Production: e.Name == production, Now: time.Now(),
		Tree: preflight.Git{Dir: filepath.Dir(*file.template)},
	}
	if d.Demand, err = demand.Read(*file.template, e.Region, e.Parameters); err != nil {
		return err
	}
	if !*offline {
		cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(e.Region))
		if err != nil {
			return fmt.Errorf("load AWS configuration: %w", err)
		}
		d.Issuers = preflight.Discovery{Client: http.DefaultClient}
		d.Account = preflight.Cloud{
			Lambda: lambda.NewFromConfig(cfg), DynamoDB: dynamodb.NewFromConfig(cfg), CLI: preflight.AWS(e.Region),
		}
	}
	fmt.Fprintf(out, "preflight of stack %s (%s)\n", e.StackName, e.Name)
	return preflight.Print(out, preflight.Run(ctx, d))
}
