package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

type versions struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Stack   string `json:"stack"` // its version; empty if none answers, or it does not say
	API     string `json:"api"`   // of the stack; empty if none answers
	Newer   bool   `json:"newer"` // the stack, on which the command then works no more than `sale pause`
}

// Version is the command that prints this version, and that of the stack which it meets. Only a stack that was
// asked for must answer.
func Version(where *target.Flags) *cobra.Command {
	c := &cobra.Command{
		Use: "version", GroupID: cli.Developers.ID, Short: "Print the version of this command, and of the stack that it meets", Args: cli.Args(),
		Example: `  flashsale version
  flashsale version --env prod --output json`,
		RunE: func(c *cobra.Command, _ []string) error {
			v := versions{Version: sale.ProgramVersion, OS: runtime.GOOS, Arch: runtime.GOARCH}
			table, asked := cli.Form(c) == cli.Table, where.Env+where.Stack != "" || c.Flags().Changed("url")
			if table {
				fmt.Fprintf(c.OutOrStdout(), "flashsale %s (%s/%s)\n", v.Version, v.OS, v.Arch)
			}
			p, err := where.Find(c.Context())
			if v.Newer = errors.Is(err, target.ErrNewer); err == nil || v.Newer {
				v.Stack, v.API = p.Version, p.API
			} else if asked || cli.Code(err) == cli.ExitUsage || c.Context().Err() != nil {
				return err
			}
			if v.Newer {
				fmt.Fprintf(c.ErrOrStderr(), "flashsale: %v\n", err)
			}
			switch {
			case !table:
				err = cli.WriteJSON(c.OutOrStdout(), v)
			case v.API == "":
				_, err = fmt.Fprintf(c.OutOrStdout(), "no stack answers at %s\n", where.URL)
			default:
				_, err = fmt.Fprintf(c.OutOrStdout(), "stack %s at %s\n", cmp.Or(v.Stack, "of an unknown version"), v.API)
			}
			return err
		},
	}
	cli.Forms(c, cli.JSON)
	return c
}
