package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/deploy/demand"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/place"
)

// production is the environment with real buyers, development the only one that may have
// test users.
const production, development = "prod", "dev"

// environment reads the file's section and applies the overrides of the command line.
func (f files) environment(overrides []string) (samconfig.Environment, error) {
	e, err := samconfig.Read(*f.config, *f.env)
	if err != nil {
		return e, err
	}
	return e, e.Override(overrides...)
}

// demand parses the command line, whose arguments are overrides, and reads what the
// template demands in the environment.
func (f files) demand(set *flag.FlagSet, args []string) (e samconfig.Environment, d demand.Demand, err error) {
	if err := arguments.Parse(set, args); err != nil {
		return e, d, fmt.Errorf("%w: %w", errUsage, err)
	}
	if e, err = f.environment(set.Args()); err != nil {
		return e, d, err
	}
	d, err = demand.Read(*f.template, e.Region, e.Parameters)
	return e, d, err
}

func runParameters(_ context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("parameters", complaints)
	built := f.String("built", ".aws-sam/build", "the output `folder` of sam build")
	release := f.String("release", "", "`folder` of a release to deploy; its programs are put into -built")
	e, d, err := file.demand(f, args)
	if err == nil && *release != "" {
		err = unpacked(*release, *file.template, *built)
	}
	if err != nil {
		return err
	}
	// For a parameter that is not given, the SAM CLI keeps the stack's previous value. A
	// parameter removed from the file must go back to the template's default.
	for _, p := range d.Parameters {
		if _, given := e.Parameters[p.Name]; !given && !p.Missing && !p.Kept {
			e.Parameters[p.Name] = p.Value
		}
	}
	for _, function := range d.Functions {
		if e.Parameters[function.FingerprintParameter], err = fingerprint(*built, function); err != nil {
			return err
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

// fingerprint changes with the function's program and with everything else that a
// published version contains. Without it a changed parameter would only reach $LATEST:
// SAM publishes a version only if the given hash of the code has changed
// (aws/serverless-application-model issue 3820), and names the version by the hash's
// first ten characters.
func fingerprint(built string, f demand.Function) (string, error) {
	if f.FingerprintParameter == "" {
		return "", fmt.Errorf("fingerprint %s: its AutoPublishCodeSha256 does not refer to a parameter", f.ID)
	}
	program, err := os.Open(filepath.Join(built, f.ID, "bootstrap"))
	if err != nil {
		return "", fmt.Errorf("fingerprint %s: %w", f.ID, err)
	}
	defer program.Close()
	hash := sha256.New()
	io.WriteString(hash, f.Settings)
	if _, err := io.Copy(hash, program); err != nil {
		return "", fmt.Errorf("fingerprint %s: %w", f.ID, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func account(cfg aws.Config, region string) preflight.Account {
	return preflight.Cloud{Lambda: lambda.NewFromConfig(cfg), DynamoDB: dynamodb.NewFromConfig(cfg), CLI: preflight.AWS(region)}
}

func runPreflight(ctx context.Context, args []string, out, complaints io.Writer) error {
	f, file := flags("preflight", complaints)
	offline := f.Bool("offline", false, "do not call AWS or the issuer")
	e, wanted, err := file.demand(f, args)
	if err != nil {
		return err
	}
	d := preflight.Deployment{
		Stack: e.StackName, Region: e.Region, Production: e.Name == production, TestUsers: e.Name == development, Now: time.Now(),
		Tree: preflight.Git{Dir: filepath.Dir(*file.template)}, Demand: wanted,
		DemandOf: func(parameters map[string]string) (demand.Demand, error) {
			return demand.Read(*file.template, e.Region, parameters)
		},
	}
	if !*offline {
		cfg, err := place.Config(ctx, e.Region)
		if err != nil {
			return err
		}
		d.Issuers = preflight.Discovery{Client: http.DefaultClient}
		d.Buses = preflight.EventBridge{CLI: preflight.AWS(e.Region)}
		d.Tables = preflight.DynamoDB{Client: dynamodb.NewFromConfig(cfg)}
		d.Account = account(cfg, e.Region)
	}
	fmt.Fprintf(out, "preflight of stack %s (%s)\n", e.StackName, e.Name)
	return preflight.Print(out, preflight.Run(ctx, d))
}
