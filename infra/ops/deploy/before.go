package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/local/cloudformation"
	"flashsale/infra/ops/awscli"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/place"
)

// production is the environment with real buyers, development the only one that may have
// test users.
const production, development = "prod", "dev"

// evaluate parses the command line, whose arguments are overrides, and evaluates the template in
// the environment.
func (c *command) evaluate() (e samconfig.Environment, t *cloudformation.Template, err error) {
	if err := arguments.Parse(c.FlagSet, c.args); err != nil {
		return e, nil, err
	}
	if e, err = c.environment(c.Args()...); err != nil {
		return e, nil, err
	}
	t, err = preflight.Read(template, e.Region, e.Parameters)
	return e, t, err
}

func runParameters(_ context.Context, c *command) error {
	built := c.String("built", ".aws-sam/build", "the output `folder` of sam build")
	release := c.String("release", "", "`folder` of a release to deploy; its files are put into -built")
	e, t, err := c.evaluate()
	if err == nil && *release != "" {
		err = copied(*release, template, *built)
	}
	if err != nil {
		return err
	}
	// For a parameter that is not given, the SAM CLI keeps the stack's previous value. A
	// parameter removed from the file must go back to the template's default.
	for _, p := range t.Parameters {
		if _, given := e.Parameters[p.Name]; !given && !p.Missing && !p.Kept {
			e.Parameters[p.Name] = p.Value
		}
	}
	functions, err := functionsOf(t)
	if err != nil {
		return err
	}
	if err := fingerprinted(*built, functions); err != nil {
		return err
	}
	arguments, err := e.Arguments()
	if err != nil {
		return err
	}
	for _, argument := range arguments {
		fmt.Fprintln(c.out, argument)
	}
	return nil
}

func runPreflight(ctx context.Context, c *command) error {
	offline := c.Bool("offline", false, "do not call AWS or the issuer")
	e, t, err := c.evaluate()
	if err != nil {
		return err
	}
	d := preflight.Deployment{
		Stack: e.StackName, Region: e.Region, Production: e.Name == production, TestUsers: e.Name == development, Template: t, Now: time.Now(),
		Changes: func(ctx context.Context) ([]string, error) { return uncommitted(ctx, ".") },
	}
	if !*offline {
		cfg, err := place.Config(ctx, e.Region)
		if err != nil {
			return err
		}
		d.Lookup = preflight.Account{CLI: awscli.CLI{Region: e.Region}, DynamoDB: dynamodb.NewFromConfig(cfg), HTTP: http.DefaultClient}
	}
	fmt.Fprintf(c.out, "preflight of stack %s (%s)\n", e.StackName, e.Name)
	return preflight.Print(c.out, preflight.Run(ctx, d))
}

// output runs a program and returns what it prints. An error includes its complaint.
func output(ctx context.Context, program string, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, program, arguments...)
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s %s: %w: %s", program, strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// uncommitted lists the changed files of a work tree, a line for each.
func uncommitted(ctx context.Context, tree string) ([]string, error) {
	out, err := output(ctx, "git", "-C", tree, "status", "--porcelain")
	if _, missing := os.Stat(filepath.Join(tree, ".git")); err != nil && errors.Is(missing, fs.ErrNotExist) {
		return nil, errors.New("this is no git clone, so nobody can tell later what was deployed")
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' }), nil
}
