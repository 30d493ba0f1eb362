package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"flashsale/functions/operate/bulkrefund"
	"flashsale/functions/operate/wire"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

// writeBulkRefund writes what is due of a provider into files for its own bulk refund, none if not all could be read. What
// has no line in them is told.
func writeBulkRefund(ctx context.Context, p *target, o options, out *terminal) error {
	provider := o["for"]
	switch why := bulkrefund.Portals[provider]; {
	case why != "":
		return cli.Usagef("%s", why)
	case bulkrefund.LinesPerFile[provider] == 0:
		return cli.Usagef("--for must be %s", strings.Join(bulkProviders(), " or "))
	case out.is(cli.JSON) || out.is(cli.CSV):
		return cli.Usagef("--for writes the provider's own form: give no -o")
	}
	var found, others []*wire.Row
	most, sent := 0, 0
	unread, err := p.eachRefund(ctx, o, func(page *wire.Refunds, r wire.Refund) error {
		name, _, _ := strings.Cut(r.Payment, "#")
		switch most = page.LinesPerFile[provider]; {
		case most == 0:
			return errors.New("the stack's version does not know the provider's form: update it")
		case name != provider:
		case r.BulkLine != "":
			found = append(found, &wire.Row{Refund: &r})
		case r.ByHand:
			others = append(others, &wire.Row{Refund: &r})
		case r.RefundedAt == "" && r.Sent != nil && r.Sent.State != sale.SentRefused:
			sent++
		}
		return nil
	})
	if err = cmp.Or(err, unread); err != nil {
		return fmt.Errorf("no file is written: %w", err)
	}
	n := 0
	for some := range slices.Chunk(found, max(most, 1)) {
		n++
		name := fmt.Sprintf("refunds-%s-%d.csv", provider, n)
		if err := writeLines(name, some); err != nil {
			return cli.Bad(err)
		}
		fmt.Fprintf(out, "%s: %d payments, %s\n", name, len(some), total(some))
	}
	for _, one := range others {
		amount := money(one.Refund.Amount, one.Refund.Currency)
		if one.Refund.Back > 0 {
			amount = money(one.Refund.Amount-one.Refund.Back, one.Refund.Currency) + " of " + amount
		}
		fmt.Fprintf(out, "by hand: %s, %s, %s\n", one.Refund.Payment, amount, one.Refund.Reason)
	}
	out.notef("%d refunds due in %d files, %d by hand; mark those that no webhook reports", len(found), n, len(others))
	if sent > 0 {
		out.notef("%d more were sent by the stack: do not pay them back", sent)
	}
	return nil
}

// bulkProviders are those that take files.
func bulkProviders() (all []string) {
	for name := range bulkrefund.LinesPerFile {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// writeLines writes a new file: one that is there may be uploaded at this moment.
func writeLines(name string, some []*wire.Row) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, one := range some {
		text.WriteString(one.Refund.BulkLine + "\n")
	}
	_, err = file.WriteString(text.String())
	return errors.Join(err, file.Close())
}
