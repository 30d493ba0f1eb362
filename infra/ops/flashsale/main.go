// Command flashsale plans, deploys and operates flash sales.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy"
	"flashsale/infra/ops/load"
	"flashsale/infra/ops/operator"
	"flashsale/infra/ops/plan"
	"flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once
	// A reader that leaves is told of by a write: a signal would end a change half-way. Ignored, it would be so by sam, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := cli.Execute(ctx, flashsale(), os.Args[1:])
	stop()
	os.Exit(code)
}

func flashsale() *cobra.Command {
	var where target.Flags
	root := &cobra.Command{Use: "flashsale", Short: "Plan, deploy and operate flash sales that cannot oversell", Version: sale.ProgramVersion}
	where.Add(root.PersistentFlags())
	where.Complete(root)
	stack := cli.Noun("stack", "Deploy and test a stack", append(deploy.Commands(&where), load.Rehearse(&where))...)
	stack.GroupID = cli.Before.ID
	root.AddCommand(plan.Command(&where), stack)
	root.AddCommand(operator.Commands(&where)...)
	root.AddCommand(deploy.Version(&where))
	if c, _, err := root.Find([]string{"stack", "smoke"}); err == nil {
		_ = c.RegisterFlagCompletionFunc("sale", operator.SaleIDs(&where))
	}
	return root
}
