package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target/targettest"
)

var update = flag.Bool("update", false, "write the page of all commands")

// executed runs a command line of a process without a terminal.
func executed(t *testing.T, line string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	root := flashsale()
	root.SetIn(strings.NewReader(""))
	root.SetOut(&out)
	root.SetErr(&errs)
	code = cli.Execute(t.Context(), root, words(line))
	return code, out.String(), errs.String()
}

// word is one of a shell's line, perhaps quoted.
var word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"]+)+`)

func words(line string) (all []string) {
	for _, w := range word.FindAllString(line, -1) {
		all = append(all, strings.NewReplacer("'", "", `"`, "").Replace(w))
	}
	return all
}

// leaves are the commands that do something, in the order of the help.
func leaves(c *cobra.Command) (all []*cobra.Command) {
	for _, sub := range c.Commands() {
		all = append(all, leaves(sub)...)
	}
	if len(all) == 0 {
		return []*cobra.Command{c}
	}
	return all
}

func TestThePageOfAllCommandsIsAsTheyAre(t *testing.T) {
	root := flashsale()
	cobra.EnableCommandSorting = false
	var contents, details strings.Builder
	for _, group := range []*cobra.Group{cli.Before, cli.During, cli.After, cli.Developers} {
		fmt.Fprintf(&contents, "\n## %s\n\n| command | what it does |\n|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, top := range root.Commands() {
			if top.GroupID != group.ID {
				continue
			}
			for _, c := range leaves(top) {
				path := c.CommandPath()
				fmt.Fprintf(&contents, "| [`%s`](#%s) | %s |\n", path, strings.ReplaceAll(path, " ", "-"), c.Short)
				use := strings.TrimSuffix(c.UseLine(), " [flags]")
				fmt.Fprintf(&details, "\n### %s\n\n%s.\n\n```\n%s\n%s\n\n%s\n```\n", path, cmp.Or(c.Long, c.Short), use, strings.TrimRight(c.LocalNonPersistentFlags().FlagUsages(), "\n"), c.Example)
			}
		}
	}
	got := strings.ReplaceAll("# Commands\n\nMade from the command itself by `go test ./infra/ops/flashsale -update`. What each is for is in [OPERATING.md](OPERATING.md) and\n[DEPLOYING.md](DEPLOYING.md), what to do when something goes wrong in [RUNBOOK.md](RUNBOOK.md).\n"+
		contents.String()+"\n`flashsale completion bash|zsh|fish` prints a shell's completion; `flashsale COMMAND --help` says what is here.\n\n## Flags of every command\n\n```\n"+
		root.PersistentFlags().FlagUsages()+"```\n\n## Each command\n"+details.String(), "..\n", ".\n")
	got = regexp.MustCompile(`\n\n\n+`).ReplaceAllString(got, "\n\n")
	const path = "../../docs/COMMANDS.md"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("%s is not of these commands (%v): go test ./infra/ops/flashsale -update writes it", path, err)
	}
}

func TestEveryExampleIsALineThatItsCommandTakes(t *testing.T) {
	for _, c := range leaves(flashsale()) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no text or no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			call := called.FindStringSubmatch(line)
			if call == nil {
				t.Fatalf("%s: %s calls nothing", c.CommandPath(), line)
			}
			if found, err := understood(words(call[1])); err != nil || found.CommandPath() != c.CommandPath() {
				t.Errorf("%s: %s is %s: %v", c.CommandPath(), line, found.CommandPath(), err)
			}
		}
	}
}

func TestWhatCannotBeMeantIsOneSentence(t *testing.T) {
	t.Setenv("FLASHSALE_URL", "http://127.0.0.1:1")
	for line, want := range map[string]string{
		"sael list":                         `64 flashsale: there is no command "flashsale sael" (did you mean sale?); ` + "`flashsale --help` lists them",
		"stack preflght":                    `64 flashsale: there is no command "flashsale stack preflght" (did you mean preflight?); ` + "`flashsale stack --help` lists them",
		"sale add moutai --stok 5 --id x":   "64 flashsale: sale add has no flag --stok (did you mean --stack or --stock?); `flashsale sale add --help` lists them",
		"stack preflight -env dev":          "64 flashsale: stack preflight has no flag -env (did you mean --env?); `flashsale stack preflight --help` lists them",
		"sale add moutai --colour b":        "64 flashsale: sale add has no flag --colour; `flashsale sale add --help` lists them",
		"sale add moutai --id":              "64 flashsale: --id has no value",
		"sale pause a b":                    "64 flashsale: sale pause: unexpected argument \"b\": `flashsale sale pause SALE [flags]`",
		"sale pause 'moutai '":              `64 flashsale: "moutai " begins or ends with a blank: give it without`,
		"sale resume a --version 'b '":      `64 flashsale: --version is "b ", which begins or ends with a blank: give it without`,
		"sale list --env=":                  "64 flashsale: --env has no value",
		"stack tokens --count ten":          `64 flashsale: --count is "ten"; it must be a whole number`,
		"stack rehearse --duration 30":      `64 flashsale: --duration is "30"; it must be a time such as 500ms, 30s or 5m`,
		"stack rehearse --rate many":        `64 flashsale: --rate is "many"; it must be a number`,
		"stack rehearse --rate 0":           `64 flashsale: --rate is 0; it must be 0.1 to 20000`,
		"sale list -o yaml":                 `64 flashsale: --output is "yaml"; it must be table, json or csv`,
		"completion ksh":                    `64 flashsale: there is no command "flashsale completion ksh" (did you mean bash or fish or zsh?); ` + "`flashsale completion --help` lists them",
		"help sael":                         `64 flashsale: there is no command "flashsale sael" (did you mean sale?); ` + "`flashsale --help` lists them",
		"sale list --url 127.0.0.1:3000":    `64 flashsale: --url, or else $FLASHSALE_URL, is "127.0.0.1:3000", which is not the http or https address of an API`,
		"books list --url https://a.test":   "64 flashsale: the address of an API is not enough, because its table is read: give --env, --stack or --table",
		"sale list --env dev --stack s":     "64 flashsale: give only one of --env, --stack and --table",
		"sale list --env dev --config none": "2 flashsale: there is no none here, which has the environment dev: give --config, or --stack with the stack's name",
		"sale list":                         "2 flashsale: http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused; `make run` starts a local stack, and --env or --stack names one on AWS",
	} {
		code, stdout, stderr := executed(t, line)
		if got := fmt.Sprintf("%d %s", code, strings.TrimSpace(stderr)); got != want || stdout != "" {
			t.Errorf("%s: %s\n%s\nwant %s", line, got, stdout, want)
		}
	}
}

func TestShellsCompleteWhatThereIsAndNeverAnError(t *testing.T) {
	t.Setenv("FLASHSALE_URL", "http://127.0.0.1:1")
	config := targettest.File(t, filepath.Join(t.TempDir(), "samconfig.toml"), "version = 0.1\n[dev.deploy.parameters]\nstack_name = \"d\"\n[prod.deploy.parameters]\nstack_name = \"p\"\n")
	for line, want := range map[string]string{
		"completion bash": "# bash completion", "completion zsh": "#compdef flashsale", "completion fish": "# fish completion",
		"__complete sale pa": "pause\t", "__complete sale list -o ''": "table\njson\ncsv\n:4\n", "__complete plan -o ''": "table\njson\n:4\n",
		"__complete order list m --state ''":                 "pending\nconfirmed\npaid\nexpired\ncancelled\nrecalled\n:4\n",
		"__complete order cancel 5 --unit ''":                "back\nkept\n:4\n",
		"__complete payment record --provider ''":            "stripe\nstandard-webhooks\nwechat-pay\nalipay\nadyen\n:4\n",
		"__complete payment record --currency ''":            "\nCNY\n",
		"__complete --config " + config + " --env ":          "dev\nprod\n:4\n",
		"__complete plan --config " + config + " --apply ''": "dev\nprod\n:4\n",
		"__complete sale list --config none --env ''":        ":4\n", // no such file
		"__complete sale pause ''":                           ":4\n", // no stack answers
		"__complete stack smoke --sale ''":                   ":4\n",
		"__complete create ''":                               ":0\n", // a file
		"__complete refund mark --file ''":                   ":0\n",
		"__complete sale list --url ftp://x --group ''":      ":4\n",
	} {
		if strings.HasSuffix(line, "--env ") {
			line += "''"
		}
		code, stdout, stderr := executed(t, line)
		whole := strings.HasSuffix(want, ":4\n") || want == ":0\n"
		if code != cli.ExitFine || !strings.Contains(stdout, want) || whole && stdout != want {
			t.Errorf("%s: exit %d, %.80q, %q, want %q", line, code, stdout, stderr, want)
		}
	}
}
