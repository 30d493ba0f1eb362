// Command deploy contains the steps around `sam deploy`: the release and the preflight before it,
// the smoke test after it.
//
// The smoke test works the same way on the local stack and on a deployed one. This package reads
// flags and sets exit codes; the packages below do the work.
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

	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/deploy/smoke"
)

// Exit codes: 1 means that something is wrong, 2 that the command could not find out.
const (
	exitFine   = 0
	exitWrong  = 1
	exitNotRun = 2
)

const usage = `usage:
  deploy release    [-tag vX.Y.Z] [-built DIR -out DIR] [-name]  may this tree be released? -built: make the release's files
  deploy preflight  -env NAME [-offline] [Parameter=value ...]   can this deployment succeed?
  deploy parameters -env NAME [-built DIR] [-release DIR] [Parameter=value ...]
                                                                 all parameters, as sam deploy takes them; fingerprints go into -built's template
  deploy smoke      [where] [-sale ID] [-token T] [-bound 30s]   test a running system as one buyer
  deploy tokens     [where] -n 1 [-out FILE]                     access tokens of test users, one a line (dev only)

where: -url of a local stack (the default, http://127.0.0.1:3000) or of any API, or -env NAME for the
stack of an environment in infra/samconfig.toml, with AWS credentials in the environment
`

// errUsage means that the command line is invalid.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(exitCode(err, os.Stderr))
}

// exitCode prints the error to w and returns the exit code.
func exitCode(err error, w io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFine
	case errors.Is(err, preflight.ErrFailed), errors.Is(err, smoke.ErrMismatch):
		fmt.Fprintln(w, "deploy:", err)
		return exitWrong
	}
	fmt.Fprintln(w, "deploy:", err)
	return exitNotRun
}

// run does one command.
func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"release": runRelease, "preflight": runPreflight, "parameters": runParameters, "smoke": runSmoke, "tokens": runTokens,
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Fprint(complaints, usage)
		return flag.ErrHelp
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("%w: name a command (-h lists them)", errUsage)
	}
	return commands[args[0]](ctx, args[1:], out, complaints)
}

// flags returns a command's flag set with the flags for the files that most commands read.
func flags(command string, complaints io.Writer) (f *flag.FlagSet, file files) {
	f = flag.NewFlagSet(command, flag.ContinueOnError)
	f.SetOutput(complaints)
	f.Usage = func() { fmt.Fprint(complaints, usage) }
	file.env = f.String("env", "", "environment in the configuration file")
	file.config = f.String("config", "infra/samconfig.toml", "the SAM CLI's configuration `file`")
	file.template = f.String("template", "template.yaml", "the template's `file`")
	return f, file
}

type files struct{ env, config, template *string }
