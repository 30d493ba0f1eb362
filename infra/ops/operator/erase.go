package operator

import (
	"context"
	"fmt"
	"io"

	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// erase puts random ids in a buyer's place (GDPR, article 17; PIPL, article 47). It is a bad answer if a sale is in
// the way or nothing is held of the buyer.
func erase(ctx context.Context, p *place, o options, out *terminal) error {
	user, try := o["buyer"], o.has("dry-run")
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	held, err := maintenance.Of(book).Erasable(ctx, user)
	if err != nil {
		return notDone("ERASED", err)
	}
	if len(held) == 0 {
		return cli.Bad(fmt.Errorf("NOT ERASED: no sale holds anything of %s: it is not the id of a buyer (ids are case-sensitive), or was erased before", user))
	}
	to := io.Writer(out)
	if !try {
		to = out.command.ErrOrStderr()
	}
	var all []heldJSON
	for _, h := range held {
		all = append(all, heldOf(h))
	}
	if err := cli.WriteYAML(to, all); err != nil {
		return err
	}
	if try {
		fmt.Fprintf(out, "%s would be erased in these %d sales, for ever, and they would be sealed with their groups; nothing was changed\n", user, len(held))
		return nil
	}
	if err := out.ask(fmt.Sprintf("Erase %s in these %d sales, for ever, and seal them with their groups?", user, len(held))); err != nil {
		return err
	}
	done := 0
	err = maintenance.Of(book).Erase(ctx, user, func(h maintenance.Held) {
		done++
		fmt.Fprintf(out, "%s  erased\n", h.Sale.ID)
	})
	switch {
	case err != nil && done > 0 && sale.CodeOf(err) != sale.Conflicting:
		return fmt.Errorf("%w; repeat the command: it erases what is left", err)
	case err != nil:
		return notDone("ERASED", err)
	}
	fmt.Fprintf(out, "%s was erased in %d sales; logs, messages, events and backups hold the id for as long as infra/docs/OPERATING.md says\n", user, done)
	return nil
}
