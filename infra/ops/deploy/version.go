package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/place"
	"flashsale/shared/sale"
)

// versions is what the command prints as JSON.
type versions struct {
	Version string        `json:"version"`
	OS      string        `json:"os"`
	Arch    string        `json:"arch"`
	Stack   *stackVersion `json:"stack"` // null: none answers
}

type stackVersion struct {
	API     string `json:"api"`
	Version string `json:"version"` // empty if it does not say
	Newer   bool   `json:"newer"`   // than the command, which works on it no more than `sale pause`
}

// Version is the command that prints this release, and that of the stack which it meets. Only a stack that was
// asked for must answer.
func Version(where *place.Flags) *cobra.Command {
	c := &cobra.Command{
		Use: "version", GroupID: cli.Developers.ID, Short: "Print the version of this command, and of the stack that it meets", Args: cli.Args(),
		Example: `  flashsale version
  flashsale version --env prod --output json`,
		RunE: func(c *cobra.Command, _ []string) error {
			v := versions{Version: sale.Release, OS: runtime.GOOS, Arch: runtime.GOARCH}
			table, asked := cli.Form(c) == cli.Table, where.Env+where.Stack != "" || c.Flags().Changed("url")
			if table {
				fmt.Fprintf(c.OutOrStdout(), "flashsale %s (%s/%s)\n", v.Version, v.OS, v.Arch)
			}
			p, err := where.Find(c.Context())
			newer := errors.Is(err, place.ErrNewer)
			switch {
			case err == nil || newer:
				v.Stack = &stackVersion{p.API, p.Version, newer}
			case asked || cli.Code(err) == cli.ExitUsage:
				return err
			}
			switch {
			case !table:
				return cli.WriteJSON(c.OutOrStdout(), v)
			case v.Stack == nil:
				fmt.Fprintf(c.OutOrStdout(), "no stack answers at %s\n", where.URL)
			default:
				fmt.Fprintf(c.OutOrStdout(), "stack %s at %s\n", cmp.Or(p.Version, "of an unknown version"), p.API)
			}
			if newer {
				fmt.Fprintf(c.ErrOrStderr(), "flashsale: %v\n", err)
			}
			return nil
		},
	}
	cli.Forms(c, cli.JSON)
	return c
}
