package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	system "flashsale/infra/deploy/place"
	"flashsale/shared/sale"
)

// errNotDone: the line that says so has been printed.
var errNotDone = errors.New("the sale is not as it was asked to be")

// edited is what SeedFunction answers to an edit.
type edited struct {
	SaleID    string    `json:"saleId"`
	Paused    bool      `json:"paused"`
	OpensAt   time.Time `json:"opensAt"`
	ClosesAt  time.Time `json:"closesAt"`
	ChangedAt time.Time `json:"changedAt"`
}

// edit is the command of an action on a sale, pause or resume. It prints one line:
// the state that results, or why it does not, and then fails with errNotDone.
//
// The request carries no instant, so it applies whatever edit stands; it may be
// sent twice, because the command ends with the last word on the sale.
func edit(action string, paused bool) func(context.Context, place, []string, io.Writer) error {
	return func(ctx context.Context, p place, args []string, out io.Writer) error {
		after, err := askForEdit(ctx, p, action, args)
		switch since := after.ChangedAt.UTC().Format("15:04:05Z"); {
		case err == nil && after.Paused != paused:
			err = errors.New("SeedFunction's answer does not say so")
			fallthrough
		case err != nil:
			fmt.Fprintf(out, "NOT %sD: %v\n", strings.ToUpper(action), err)
			return errNotDone
		case paused:
			where := ""
			if p.env != "" {
				where = "ENV=" + p.env + " "
			}
			fmt.Fprintf(out, "%s is paused since %s: no unit leaves until `make resume %sSALE=%s`\n", after.SaleID, since, where, after.SaleID)
		default:
			fmt.Fprintf(out, "%s is resumed since %s: it sells from %s to %s\n", after.SaleID, since,
				after.OpensAt.UTC().Format(time.RFC3339), after.ClosesAt.UTC().Format(time.RFC3339))
		}
		return nil
	}
}

func askForEdit(ctx context.Context, p place, action string, args []string) (edited, error) {
	var after edited
	flags := flag.NewFlagSet(action, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	saleID := flags.String("sale", "", "")
	if err := flags.Parse(args); err != nil {
		return after, err
	}
	if !sale.ValidID(*saleID) {
		return after, fmt.Errorf("%q is no sale id; name the sale: make %s SALE=moutai", *saleID, action)
	}
	where, err := p.system(ctx)
	if err != nil {
		return after, err
	}
	err = where.Ask(ctx, map[string]string{"action": action, "saleId": *saleID}, &after)
	var refusal *system.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code == string(sale.Conflicting):
		return after, errors.New(strings.TrimPrefix(refusal.Detail, string(sale.Conflicting)+": "))
	case errors.As(err, &refusal) && refusal.Code != string(sale.Busy):
		return after, errors.New(refusal.Detail)
	case err != nil:
		return after, fmt.Errorf("%w; it may yet happen: repeat it until it says so", err)
	}
	return after, nil
}
