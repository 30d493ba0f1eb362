package main

import (
	"context"
	"fmt"
	"io"

	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

// erase puts random ids in a user's place (GDPR, article 17; PIPL, article 47). Without -go it only says
// whether that is possible. It fails with errNotDone if a sale is in the way or nothing is held of the
// user, which the line says that it prints.
func erase(ctx context.Context, p *place, o options, out io.Writer) error {
	user, sure := o["user"], o.has("go")
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	done := 0
	if sure {
		err = maintenance.Of(book).Erase(ctx, user, func(h maintenance.Held) {
			done++
			fmt.Fprintf(out, "%s  erased\n", h.Sale.ID)
		})
	} else {
		var held []maintenance.Held
		held, err = maintenance.Of(book).Erasable(ctx, user)
		for _, h := range held {
			if err == nil {
				heldOf(h).print(out)
			}
		}
		if done = len(held); err == nil && done > 0 {
			fmt.Fprintf(out, "nothing was erased: GO=1 erases %s in these %d sales, for ever, and seals them with their groups\n", user, done)
		}
	}
	switch {
	case err != nil && done > 0 && sure && sale.CodeOf(err) != sale.Conflicting:
		return fmt.Errorf("%s; repeat the command: it erases what is left", oneLine(err))
	case err != nil:
		return notDone("ERASED", err, out)
	case done == 0:
		fmt.Fprintf(out, "NOT ERASED: no sale holds anything of %s: it is not the id of a buyer (ids are case-sensitive), or was erased before\n", user)
		return errNotDone
	case sure:
		fmt.Fprintf(out, "%s was erased in %d sales; logs, messages, events and backups hold the id for as long as infra/docs/OPERATING.md says\n", user, done)
	}
	return nil
}
