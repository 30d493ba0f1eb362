package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/cli"
)

const LocalURL = "http://127.0.0.1:3000"

// Flags select the system on which a command works: the stack of an environment in the SAM CLI's
// configuration file, a stack by its name, a table (and queues) alone, or the system at an address, which is
// the local stack unless another is given.
type Flags struct {
	Env, Stack, Table, DeadLetters, URL, Config string
}

// The files in which environments are looked for: in a checkout, and beside a release's files.
const checkoutConfig, releaseConfig = "infra/samconfig.toml", "samconfig.toml"

// Add adds the flags, whose defaults are the environment's FLASHSALE_ENV and FLASHSALE_URL.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Env, "env", "", "`environment` of samconfig.toml, whose stack on AWS is meant (default $FLASHSALE_ENV)")
	flags.StringVar(&f.Stack, "stack", "", "`name` of a stack on AWS")
	flags.StringVar(&f.Table, "table", "", "`name` of a table on AWS, for what needs no function")
	flags.StringVar(&f.DeadLetters, "dead-letter-queue", "", "with --table: `URL` of its dead-letter queue")
	flags.StringVar(&f.URL, "url", "", "`address` of the API (default $FLASHSALE_URL, or the local stack's, "+LocalURL+")")
	flags.StringVar(&f.Config, "config", "", "the SAM CLI's configuration `file` (default "+checkoutConfig+", or else "+releaseConfig+")")
}

// Check refuses flags that contradict each other, and takes the defaults of the environment.
func (f *Flags) Check() error {
	if f.Env+f.Stack+f.Table+f.URL == "" {
		env, address := os.Getenv("FLASHSALE_ENV"), os.Getenv("FLASHSALE_URL")
		if env != "" && address != "" {
			return cli.Usagef("FLASHSALE_ENV is %s and FLASHSALE_URL is %s, which are two systems: unset one, or give --env or --url", env, address)
		}
		f.Env = env
	}
	if f.Env+f.Stack+f.Table == "" {
		f.URL = cmp.Or(f.URL, os.Getenv("FLASHSALE_URL"), LocalURL)
	}
	if f.URL != "" {
		if _, err := client.CheckAddress(f.URL); err != nil {
			return cli.Usagef("--url, or else $FLASHSALE_URL, is %q, which is not the http or https address of an API", f.URL)
		}
	}
	given := 0
	for _, one := range []string{f.Env, f.Stack, f.Table} {
		if one != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return cli.Usagef("give only one of --env, --stack and --table")
	case f.Table == "" && f.DeadLetters != "":
		return cli.Usagef("--dead-letter-queue belongs to a --table: give it, too")
	}
	return nil
}

func (f *Flags) ConfigFile() string {
	if f.Config != "" {
		return f.Config
	}
	if _, err := os.Stat(checkoutConfig); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(releaseConfig); err == nil {
			return releaseConfig
		}
	}
	return checkoutConfig
}

// Environment is the environment of the configuration file that --env names.
func (f *Flags) Environment() (samconfig.Environment, error) {
	e, err := samconfig.Read(f.ConfigFile(), f.Env)
	switch {
	case errors.Is(err, samconfig.ErrUnknown):
		err = cli.Usagef("--env: %w", err)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("there is no %s here, which has the environment %s: give --config, or --stack with the stack's name", f.ConfigFile(), f.Env)
	}
	return e, err
}

// Wanted is the system as Find finds it; a table alone is none.
func (f *Flags) Wanted() (Wanted, error) {
	if f.Env == "" {
		return Wanted{URL: f.URL, Stack: f.Stack}, nil
	}
	e, err := f.Environment()
	if err == nil && e.StackName == "" {
		err = fmt.Errorf("the environment %s has no stack_name in %s", f.Env, f.ConfigFile())
	}
	return Wanted{URL: f.URL, Stack: e.StackName, Region: e.Region}, err
}

// ErrTableAlone means that a function is to be asked, and only a table is known.
var ErrTableAlone = cli.Usagef("a table alone is not enough, because a function is asked: give --env or --stack")

// Find finds the system, for a command that needs more than a table.
func (f *Flags) Find(ctx context.Context) (Target, error) {
	if err := f.Check(); err != nil {
		return Target{}, err
	}
	if f.Table != "" {
		return Target{}, ErrTableAlone
	}
	w, err := f.Wanted()
	if err != nil {
		return Target{}, err
	}
	return Find(ctx, w)
}

// Name names the system, which was found so, with its environment.
func (f *Flags) Name(p Target) string {
	of := ""
	if f.Env != "" {
		of = ", environment " + f.Env
	}
	switch {
	case f.Table != "":
		return fmt.Sprintf("table %s in %s", f.Table, p.AWS.Region)
	case p.Stack != "":
		return fmt.Sprintf("stack %s%s, in %s", p.Stack, of, p.AWS.Region)
	case p.Local:
		return "the local stack at " + p.API
	}
	return "the system at " + f.URL
}

// String is what a hint adds to a command, such as " --env dev", so that it means the same system.
func (f *Flags) String() string {
	var words []string
	switch {
	case f.Env != "":
		words = given("--env", f.Env, "--config", f.Config)
	case f.Stack != "":
		words = given("--stack", f.Stack)
	case f.Table != "":
		words = given("--table", f.Table, "--dead-letter-queue", f.DeadLetters)
	case f.URL != LocalURL && f.URL != os.Getenv("FLASHSALE_URL"):
		words = given("--url", f.URL)
	}
	if len(words) == 0 {
		return ""
	}
	return " " + cli.Quote(words...)
}

// given are the flags, each followed by its value, that have one.
func given(flags ...string) (words []string) {
	for flag := range slices.Chunk(flags, 2) {
		if flag[1] != "" {
			words = append(words, flag...)
		}
	}
	return words
}
