// Package deploy has the verbs of `flashsale stack` around the SAM CLI: the preflight before a deployment, the
// deployment, and the smoke test and the test users' tokens after it.
package deploy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/local/cloudformation"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/packaged"
	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

func Commands(where *target.Flags) []*cobra.Command {
	return []*cobra.Command{preflightCommand(where), deployCommand(where), smokeCommand(where), tokensCommand(where)}
}

// production is the environment with real buyers, development the only one that may have
// test users.
const production, development = "prod", "dev"

// The template, in a checkout and in a release's folder, and where sam puts what it builds of a checkout.
const template, checkoutBuilt = "template.yaml", ".build/sam"

// deployment is what shall be deployed: the checkout in the current folder, or a release's files.
type deployment struct {
	where       *target.Flags
	parameters  []string // as given
	release     string   // as given
	built       string   // folder of the template to deploy and its functions
	environment samconfig.Environment
	template    *cloudformation.Template
}

func (d *deployment) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&d.parameters, "parameters", nil, "`parameters` besides the file's: \"Name=value Other='two words'\", or file://FILE with one a line, for what is secret")
	c.Flags().StringVar(&d.release, "release", "", "`folder` of a release's files, to deploy in place of a checkout")
}

func preflightCommand(where *target.Flags) *cobra.Command {
	d := deployment{where: where}
	var offline bool
	c := &cobra.Command{
		Use: "preflight", Short: "Check whether an environment can be deployed", Args: cli.Args(),
		Long: `Checks what would otherwise show during a deployment, or as an outage: the account's quotas, and whether
the parameters are sound. It changes nothing.`,
		Example: `  flashsale stack preflight --env dev
  flashsale stack preflight --env prod --parameters 'AlarmEmail=ops@shop.example LogRetentionDays=365'`,
		RunE: func(c *cobra.Command, _ []string) error {
			done, err := d.read()
			defer done()
			if err != nil {
				return err
			}
			return d.preflight(c, c.OutOrStdout(), offline)
		},
	}
	d.flags(c)
	c.Flags().BoolVar(&offline, "offline", false, "ask neither AWS nor an issuer")
	return c
}

func deployCommand(where *target.Flags) *cobra.Command {
	d := deployment{where: where}
	var dry bool
	c := &cobra.Command{
		Use: "deploy", Short: "Deploy an environment with the SAM CLI, after a preflight", Args: cli.Args(),
		Long: `Deploys the checkout in the current folder, which sam builds with make and Go, or a release's files, from any
folder. A repeat changes what differs, and nothing if nothing does.`,
		Example: `  flashsale stack deploy --env dev
  flashsale stack deploy --env prod --parameters file://front.secret
  flashsale stack deploy --env prod --release flashsale-v` + sale.ProgramVersion,
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c, dry) },
	}
	d.flags(c)
	c.Flags().BoolVar(&dry, "dry-run", false, "only the preflight, and how sam would be called")
	cli.CanAsk(c)
	return c
}

// read finds and evaluates the template and the environment. A release's files are compared and copied to
// where nobody changes them, until done is called.
func (d *deployment) read() (done func(), err error) {
	done = func() {}
	if err := d.where.Check(); err != nil {
		return done, err
	}
	if _, err := os.Stat(packaged.Sums); err == nil {
		d.release = cmp.Or(d.release, ".")
	}
	own, failed := os.ReadFile(template)
	folder := ""
	if d.release == "" {
		d.built = checkoutBuilt
		if failed != nil {
			return done, cli.Usagef("there is no %s here: change to a checkout, or give --release", template)
		}
	} else {
		if d.built, err = os.MkdirTemp("", "flashsale-"); err != nil {
			return done, err
		}
		folder, done = d.built, func() { os.RemoveAll(d.built) }
		if err := packaged.Copy(d.release, d.built); errors.Is(err, packaged.ErrSpoiled) {
			return done, cli.Bad(err)
		} else if err != nil {
			return done, err
		}
		if text, _ := os.ReadFile(filepath.Join(folder, template)); failed == nil && !bytes.Equal(packaged.Template(own), text) {
			return done, cli.Bad(fmt.Errorf("the template in %s is not this checkout's (%s): check out the release's tag, or change to another folder", d.release, sale.ProgramVersion))
		}
		if _, err := os.Stat(d.where.ConfigFile()); err != nil && d.where.Config == "" {
			d.where.Config = filepath.Join(d.release, filepath.Base(d.where.ConfigFile()))
		}
	}
	if d.environment, err = d.where.Environment(); err != nil {
		return done, err
	}
	shown := samconfig.Environment{Parameters: map[string]string{}} // in the process list
	for _, given := range d.parameters {
		if path, isFile := strings.CutPrefix(given, "file://"); isFile {
			err = d.environment.OverrideFrom(path)
		} else {
			err = cmp.Or(d.environment.Override(given), shown.Override(given))
		}
		if err != nil {
			return done, cli.Usagef("--parameters: %w", err)
		}
	}
	if d.template, err = preflight.Read(filepath.Join(folder, template), d.environment.Region, d.environment.Parameters); err != nil {
		return done, err
	}
	for _, p := range d.template.Parameters {
		if p.Secret && shown.Parameters[p.Name] != "" {
			return done, cli.Usagef("%s is a secret, and everybody on this machine can read a command line: write it into a file of your own, as %[1]s=value, and give --parameters file://FILE", p.Name)
		}
	}
	if version := d.template.Output("Version"); version != sale.ProgramVersion {
		return done, fmt.Errorf("the template is of release %q, this is flashsale %s: use the command of that release", version, sale.ProgramVersion)
	}
	return done, nil
}

func (d *deployment) preflight(c *cobra.Command, out io.Writer, offline bool) error {
	e := d.environment
	checks := preflight.Deployment{
		Stack: e.StackName, Region: e.Region, Production: e.Name == production, TestUsers: e.Name == development, Template: d.template, Now: time.Now(),
	}
	if d.release == "" {
		checks.Changes = func(ctx context.Context) ([]string, error) { return preflight.Uncommitted(ctx, ".") }
	}
	if !offline {
		cfg, err := target.Config(c.Context(), e.Region)
		if err != nil {
			return err
		}
		checks.Lookup = preflight.Account{AWS: cfg, DynamoDB: dynamodb.NewFromConfig(cfg), HTTP: http.DefaultClient}
	}
	fmt.Fprintf(out, "preflight of stack %s (%s)\n", e.StackName, e.Name)
	findings := preflight.Run(c.Context(), checks)
	if c.Context().Err() != nil {
		return errors.New("repeat the command")
	}
	err := preflight.Print(out, findings)
	if errors.Is(err, preflight.ErrFailed) {
		return cli.Bad(err)
	}
	return err
}

func (d *deployment) run(c *cobra.Command, dry bool) error {
	done, err := d.read()
	defer done()
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("sam"); err != nil && !dry {
		return errors.New("the SAM CLI, sam, is not on the PATH, and it deploys: https://docs.aws.amazon.com/serverless-application-model")
	}
	yes, _ := c.Flags().GetBool("yes")
	if d.environment.Confirms && !yes && !dry && !cli.IsTerminal(c.InOrStdin()) {
		return cli.Usagef("%s lets sam ask before it changes %s, and there is no terminal: give --yes", c.CommandPath(), d.environment.StackName)
	}
	if err := d.preflight(c, c.ErrOrStderr(), false); err != nil {
		return err
	}
	config, err := filepath.Abs(d.where.ConfigFile()) // sam looks for a relative one beside the template
	if err != nil {
		return err
	}
	where := []string{"--config-file", config, "--config-env", d.environment.Name}
	call := func(words ...string) error { return d.sam(c, words) }
	if dry {
		call = func(words ...string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "would run: sam", strings.Trim(fmt.Sprintf("%q", words), "[]"))
			return err
		}
	}
	if d.release == "" {
		if err := call(append(append([]string{"build"}, where...), "--build-dir", d.built)...); err != nil {
			return err
		}
	}
	if err := d.complete(dry); err != nil {
		return err
	}
	words := append(append([]string{"deploy"}, where...), "--template-file", filepath.Join(d.built, template))
	if yes {
		words = append(words, "--no-confirm-changeset")
	}
	if dry {
		parameters, err := d.environment.Arguments()
		if err == nil {
			err = call(words...)
		}
		if err == nil {
			_, err = fmt.Fprintln(c.OutOrStdout(), "with the parameters", strings.Join(parameters, " "))
		}
		return err
	}
	if words[2], err = d.handedOver(config); err != nil {
		return err
	}
	defer os.Remove(words[2])
	return call(words...)
}

// handedOver is a file for this user alone with the configuration and the parameters, which sam reads.
func (d *deployment) handedOver(config string) (path string, err error) {
	text, err := d.environment.File(config)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "flashsale-*.toml")
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	if err = cmp.Or(err, file.Close()); err != nil {
		os.Remove(file.Name())
	}
	return file.Name(), err
}

// complete gives a value to every parameter, and puts the functions' fingerprints into the template that is
// deployed. In a dry run it hides secrets, and leaves the template.
func (d *deployment) complete(dry bool) error {
	// For a parameter that is not given, the SAM CLI keeps the stack's previous value. A
	// parameter removed from the file must go back to the template's default.
	for _, p := range d.template.Parameters {
		if _, given := d.environment.Parameters[p.Name]; !given && !p.Missing && !p.Kept {
			d.environment.Parameters[p.Name] = p.Value
		} else if given && p.Secret && dry {
			d.environment.Parameters[p.Name] = "***"
		}
	}
	if dry {
		return nil
	}
	functions, err := functionsOf(d.template)
	if err == nil {
		err = fingerprinted(d.built, functions)
	}
	return err
}

// sam runs the SAM CLI in the foreground. A Ctrl-C reaches it, and is waited for.
func (d *deployment) sam(c *cobra.Command, words []string) error {
	p := exec.CommandContext(c.Context(), "sam", words...)
	p.Cancel = func() error { return p.Process.Signal(os.Interrupt) }
	p.Stdin, p.Stdout, p.Stderr = c.InOrStdin(), cli.Own(c.OutOrStdout()), c.ErrOrStderr()
	err := p.Run()
	switch {
	case err != nil && c.Context().Err() != nil:
		return errors.New("what CloudFormation has begun it goes on with; repeat the command afterwards")
	case err != nil:
		return cli.Bad(fmt.Errorf("NOT DEPLOYED: sam %s: %s", words[0], strings.TrimSpace(err.Error())))
	}
	return nil
}
