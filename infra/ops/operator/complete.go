package operator

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/shared/currency"
	"flashsale/shared/sale"
)

// completeTime bounds what somebody waits for at a prompt.
var completeTime = 4 * time.Second

// files are the flags that name a file or a folder.
var files = []string{"file", "log", "events"}

// choices are the values of the flags that have a fixed set of them.
func choices(flag string) (values []string) {
	switch flag {
	case "state":
		for _, s := range orderStates {
			values = append(values, strings.ToLower(string(s)))
		}
	case "unit":
		values = []string{string(sale.UnitBack), string(sale.UnitKept)}
	case "type":
		values = eventTypes()
	case "provider":
		values = webhook.Providers
	case "for":
		values = bulkProviders()
	case "currency":
		values = strings.Fields(strings.ReplaceAll(currency.Codes(), ",", " "))
	}
	return values
}

// complete has shells complete a command's argument and flags.
func (p *target) complete(c *cobra.Command, argument string, names []string) {
	ids := map[string]cobra.CompletionFunc{"sale": p.completing(saleIDs), "group": p.completing(groupIDs)}
	for _, name := range names {
		switch {
		case c.Flags().Lookup(name).Value.Type() == "bool", slices.Contains(files, name):
		case ids[name] != nil:
			_ = c.RegisterFlagCompletionFunc(name, ids[name])
		default:
			cli.Complete(c, name, choices(name)...)
		}
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case argument == "file" && len(args) == 0:
			return nil, cobra.ShellCompDirectiveDefault
		case ids[argument] != nil && len(args) == 0:
			return ids[argument](c, args, typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// SaleIDs completes an id of a sale for a command of another package.
func SaleIDs(where *system.Flags) cobra.CompletionFunc {
	return (&target{where: where}).completing(saleIDs)
}

func saleIDs(s listedSale) cobra.Completion {
	if s.Name == "" || s.Name == s.SaleID {
		return cobra.CompletionWithDesc(s.SaleID, s.State)
	}
	return cobra.CompletionWithDesc(s.SaleID, s.Name+", "+s.State)
}

func groupIDs(s listedSale) cobra.Completion { return s.LimitGroup }

// completing completes what the stack has. If it does not answer in time, or refuses, there is nothing to complete.
func (p *target) completing(of func(listedSale) cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completeTime)
		defer cancel()
		if nobody, err := os.Open(os.DevNull); err == nil { // no question stands on a prompt that somebody types at
			os.Stdin = nobody
		}
		system.Terminal = func() (io.ReadWriteCloser, error) { return nil, os.ErrNotExist }
		found := make(chan []listedSale, 1)
		go func() { found <- p.forCompletion(ctx) }()
		var all []cobra.Completion
		select {
		case <-ctx.Done():
		case sales := <-found:
			for _, s := range sales {
				if one := of(s); one != "" && strings.HasPrefix(one, typed) {
					all = append(all, one)
				}
			}
		}
		slices.Sort(all)
		return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
	}
}

// forCompletion are the sales, as OperateFunction or, if only a table is known, that has them.
func (p *target) forCompletion(ctx context.Context) []listedSale {
	p.errors = io.Discard
	if p.where.Check() != nil {
		return nil
	}
	if p.where.Table == "" {
		list, _ := p.saleList(ctx)
		return list.Sales
	}
	listed, _ := p.sales(ctx)
	all := make([]listedSale, len(listed))
	for i, l := range listed {
		all[i].SaleID = l.SaleID
	}
	return all
}
