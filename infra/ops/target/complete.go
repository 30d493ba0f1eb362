package target

import (
	"github.com/spf13/cobra"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/cli"
)

// Complete has shells complete the flags that select a system.
func (f *Flags) Complete(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("env", f.Environments)
	_ = root.MarkPersistentFlagFilename("config", "toml")
	for _, name := range []string{"stack", "table", "dead-letter-queue", "url"} {
		cli.Complete(root, name)
	}
}

// Environments are those of the configuration file, for a shell that completes one.
func (f *Flags) Environments(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	e, _ := samconfig.Read(f.ConfigFile(), "") // without a file there is none
	return e.Known, cobra.ShellCompDirectiveNoFileComp
}
