// Command deploy contains the steps around `sam deploy`: the release and the preflight before it,
// the smoke test after it.
//
// The smoke test works the same way on the local stack and on a deployed one. This package reads
// flags; the packages below do the work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"flashsale/infra/kit/arguments"
	"flashsale/infra/kit/samconfig"
)

const usage = `usage:
  deploy release    [-tag vX.Y.Z] [-built DIR -out DIR] [-name]  may this tree be released? -built: make the release's files
  deploy preflight  -env NAME [-offline] [Parameter=value ...]   can this deployment succeed?
  deploy parameters -env NAME [-built DIR] [-release DIR] [Parameter=value ...]
                                                                 all parameters, as sam deploy takes them; fingerprints go into -built's template
  deploy smoke      [where] [-sale ID] [-token T]                test a running system as one buyer
  deploy tokens     [where] -n 1 [-out FILE]                     access tokens of test users, one a line (dev only)

where: -url of a local stack (the default, http://127.0.0.1:3000) or of any API, or -env NAME for the
stack of an environment in infra/samconfig.toml, with AWS credentials in the environment
`

var commands = map[string]func(context.Context, *command) error{
	"release": runRelease, "preflight": runPreflight, "parameters": runParameters, "smoke": runSmoke, "tokens": runTokens,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

// run does one command.
func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprint(complaints, usage)
		return flag.ErrHelp
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return errors.New("name a command (-h lists them)")
	}
	c := &command{FlagSet: flag.NewFlagSet(args[0], flag.ContinueOnError), args: args[1:], out: out}
	c.SetOutput(complaints)
	c.Usage = func() { fmt.Fprint(complaints, usage) }
	c.StringVar(&c.env, "env", "", "environment in the configuration file")
	return commands[args[0]](ctx, c)
}

// command is one command.
type command struct {
	*flag.FlagSet
	args []string
	env  string // in config
	out  io.Writer
}

// The files of the tree in which the command is started.
const config, template = "infra/samconfig.toml", "template.yaml"

// parse reads the flags of a command that takes nothing else.
func (c *command) parse() error {
	if err := arguments.Parse(c.FlagSet, c.args); err != nil {
		return err
	}
	if c.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", c.Arg(0))
	}
	return nil
}

// environment reads the file's section and applies overrides.
func (c *command) environment(overrides ...string) (samconfig.Environment, error) {
	e, err := samconfig.Read(config, c.env)
	if err != nil {
		return e, err
	}
	return e, e.Override(overrides...)
}
