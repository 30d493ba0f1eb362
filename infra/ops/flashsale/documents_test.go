package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flashsale/infra/ops/cli"
)

var (
	block  = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	span   = regexp.MustCompile("`([^`]+)`")
	called = regexp.MustCompile(`(?m)(?:^|[ (]|bin/)flashsale((?: +(?:'[^'\n]*'|"[^"\n]*"|[^\s'"|<>;&()#…]+)+)+)`)
	// named is what a text that is no document calls a command.
	named = regexp.MustCompile(`\bflashsale ([a-z]+) ([a-z]+)`)
	// others begin as calls do: a prefix of what a draw hashes, and a title.
	others = strings.NewReplacer("flashsale draw 1", "", "flashsale order events", "")
)

// understood is the command that words call, and what its command line would refuse. A name alone is no call.
func understood(words []string) (*cobra.Command, error) {
	root := flashsale()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	c, rest, err := root.Find(words)
	if err != nil || len(rest) == 0 {
		return c, err
	}
	if err := c.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return c, err
	}
	if arguments := c.Flags().Args(); c.HasSubCommands() && len(arguments) > 0 {
		return c, cli.Usagef("%s has no command %s", c.CommandPath(), arguments[0])
	}
	return c, c.ValidateArgs(c.Flags().Args())
}

// Every call in a document or a workflow has a command, flags and values that there are; and every other text, such
// as a problem's or an alarm's, names a command that there is.
func TestEveryCommandThatATextNamesIsUnderstood(t *testing.T) {
	calls, names := 0, 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".build", ".git", ".local", "node_modules"}, d.Name()) {
			return fs.SkipDir
		}
		ext := filepath.Ext(path)
		if err != nil || !slices.Contains([]string{".md", ".yaml", ".yml", ".toml", ".go", ".html", ".js"}, ext) || strings.HasSuffix(path, "_test.go") || d.Name() == "COMMANDS.md" {
			return err
		}
		b, err := os.ReadFile(path)
		text := others.Replace(strings.ReplaceAll(string(b), "\\\n", ""))
		var commands []string
		switch ext {
		case ".md":
			for _, m := range block.FindAllStringSubmatch(text, -1) {
				if m[1] == "sh" || m[1] == "bash" {
					commands = append(commands, m[2])
				}
			}
			for _, m := range span.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
				commands = append(commands, strings.Join(strings.Fields(m[1]), " "))
			}
		case ".yml":
			commands = []string{text}
		}
		for _, m := range called.FindAllStringSubmatch(strings.Join(commands, "\n"), -1) {
			calls++
			if _, err := understood(words(m[1])); err != nil {
				t.Errorf("%s: flashsale%s: %v", path, m[1], err)
			}
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if c, _, err := flashsale().Find(m[1:2]); err == nil && c.HasSubCommands() && ext != ".md" {
				names++
				if _, rest, err := c.Find(m[2:]); err != nil || len(rest) > 0 {
					t.Errorf("%s: there is no command %q", path, m[0])
				}
			}
		}
		return err
	})
	if err != nil || calls < 50 || names < 10 {
		t.Errorf("%d calls and %d names were found: %v", calls, names, err)
	}
}
