// The program buys, enters a draw and is refused, with a client that ogen generated, and prints a
// line of each answer. buyer.ts does the same with another client.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"flashsale/infra/proof/clients/ogen/api"
	"flashsale/infra/proof/clients/ogen/operate"
)

// world is what there is to buy, and for whom.
type world struct {
	API, Operate                             string
	Buyer, Operator, Viewer                  string // their tokens
	Open, SoldOut, Later, Drawn, Unknown, ID string // sales, and the id of a change
}

// bearer is somebody's token; "" is nobody's.
type bearer string

func (b bearer) AccessToken(context.Context, api.OperationName) (api.AccessToken, error) {
	return api.AccessToken{Token: string(b)}, nil
}

func (b bearer) OperatorToken(context.Context, operate.OperationName) (operate.OperatorToken, error) {
	return operate.OperatorToken{Token: string(b)}, nil
}

func main() {
	var w world
	if err := json.Unmarshal([]byte(os.Args[1]), &w); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.buy(ctx); err != nil {
		panic(err)
	}
	if err := w.change(ctx); err != nil {
		panic(err)
	}
}

func (w world) buy(ctx context.Context) error {
	c, err := api.NewClient(w.API, bearer(w.Buyer))
	if err != nil {
		return err
	}
	page, err := c.Sale(ctx, api.SaleParams{SaleId: api.ID(w.Open)})
	if err != nil {
		return err
	}
	s := page.(*api.SalePageHeaders).Response
	fmt.Println("sale", s.State, s.Remaining)

	purchase := func(saleID, key string) (api.PurchaseRes, error) {
		p := api.PurchaseParams{SaleId: api.ID(saleID)}
		if key != "" {
			p.IdempotencyKey = api.NewOptString(key)
		}
		return c.Purchase(ctx, nil, p)
	}
	first, err := purchase(w.Open, "k-1")
	if err != nil {
		return err
	}
	held := first.(*api.AcceptedHeaders).Response
	fmt.Println("purchase", held.State)
	again, err := purchase(w.Open, "k-1")
	if err != nil {
		return err
	}
	fmt.Println("the same purchase", again.(*api.AcceptedHeaders).Response.ClaimId == held.ClaimId)

	for _, saleID := range []string{w.Open, w.SoldOut, w.Later, w.Unknown} {
		answer, err := purchase(saleID, "")
		if err != nil {
			return err
		}
		switch a := answer.(type) {
		case *api.NoUnitHeaders:
			switch a.Response.Type {
			case api.AlreadyOrderedNoUnit:
				fmt.Println("refused", a.Response.AlreadyOrdered.Code, claimID(a.Response.AlreadyOrdered.Claim.Value) == held.ClaimId)
			case api.SoldOutNoUnit:
				fmt.Println("refused", a.Response.SoldOut.Code, a.Response.SoldOut.Order)
			}
		case *api.MayNotBuyApplicationProblemJSONHeaders:
			fmt.Println("refused", a.Response.SaleNotOpen.Code, a.Response.IsSaleNotOpen() && a.RetryAfter.Value > 0)
		case *api.SaleNotFoundAnswerHeaders:
			fmt.Println("refused", a.Response.Code, a.Response.Status)
		default:
			return fmt.Errorf("%T", a)
		}
	}

	var order api.ConfirmedClaim
	for order.OrderId == "" {
		answer, err := c.Claim(ctx, api.ClaimParams{SaleId: api.ID(w.Open)})
		if err != nil {
			return err
		}
		own := answer.(*api.OwnClaimHeaders)
		if order = own.Response.ConfirmedClaim; order.OrderId == "" {
			time.Sleep(time.Duration(own.RetryAfter.Value) * time.Second)
		}
	}
	fmt.Println("claim", order.State, order.ClaimId == held.ClaimId)
	read, err := c.Order(ctx, api.OrderParams{OrderId: order.OrderId})
	if err != nil {
		return err
	}
	fmt.Println("order", read.(*api.OwnOrderHeaders).Response.ClaimId == held.ClaimId)
	cancelled, err := c.Cancel(ctx, api.CancelParams{SaleId: api.ID(w.Open)})
	if err != nil {
		return err
	}
	fmt.Println("refused", cancelled.(*api.CannotCancelHeaders).Response.NotCancellable.Code)

	entered, err := c.Enter(ctx, nil, api.EnterParams{SaleId: api.ID(w.Drawn)})
	if err != nil {
		return err
	}
	entry, err := c.Entry(ctx, api.EntryParams{SaleId: api.ID(w.Drawn)})
	if err != nil {
		return err
	}
	fmt.Println("entered", entered.(*api.OwnEntryHeaders).Response.Leaf == entry.(*api.OwnEntryHeaders).Response.Leaf)
	entered, err = c.Enter(ctx, nil, api.EnterParams{SaleId: api.ID(w.Open)})
	if err != nil {
		return err
	}
	fmt.Println("refused", entered.(*api.DrawNotFoundAnswerHeaders).Response.DrawNotFound.Code)

	nobody, err := api.NewClient(w.API, bearer("none"))
	if err != nil {
		return err
	}
	refused, err := nobody.Claim(ctx, api.ClaimParams{SaleId: api.ID(w.Open)})
	if err != nil {
		return err
	}
	fmt.Println("refused", refused.(*api.UnauthorizedAnswerApplicationJSONHeaders).Response.Message)
	return nil
}

func claimID(c api.Claim) api.ID {
	if c.IsPendingClaim() {
		return c.PendingClaim.ClaimId
	}
	return c.ConfirmedClaim.ClaimId
}

// change pauses a sale and lets it sell again: at first by what was seen before the pause, which is refused.
func (w world) change(ctx context.Context) error {
	sale := operate.ChangeParams{SaleId: operate.ID(w.Open)}
	pause := operate.NewChangeRequestPauseChangeRequest(operate.StopRequest{ID: operate.ID(w.ID), Action: operate.StopRequestActionPause})
	viewer, err := operate.NewClient(w.Operate, bearer(w.Viewer))
	if err != nil {
		return err
	}
	refused, err := viewer.Change(ctx, pause, sale)
	if err != nil {
		return err
	}
	fmt.Println("refused", refused.(*operate.ForbiddenHeaders).Response.Code)

	c, err := operate.NewClient(w.Operate, bearer(w.Operator))
	if err != nil {
		return err
	}
	standing, err := c.Standing(ctx, operate.StandingParams{SaleId: sale.SaleId})
	if err != nil {
		return err
	}
	paused, err := c.Change(ctx, pause, sale)
	if err != nil {
		return err
	}
	fmt.Println("changed", paused.(*operate.ChangedHeaders).Response.Paused.Value)
	seen := standing.(*operate.StandingAnswerHeaders).Response.Seen.Value
	for n := range 2 {
		resume := operate.ResumeRequest{ID: operate.ID(fmt.Sprint(w.ID, n)), Action: "resume", Seen: seen}
		answer, err := c.Change(ctx, operate.NewResumeRequestChangeRequest(resume), sale)
		if err != nil {
			return err
		}
		switch a := answer.(type) {
		case *operate.ConflictHeaders:
			meanwhile := a.Response.ChangedMeanwhile
			fmt.Println("refused", meanwhile.Code, meanwhile.Change.Value.Action)
			seen = meanwhile.Seen.Value
		case *operate.ChangedHeaders:
			fmt.Println("changed", a.Response.Paused.Value)
		default:
			return fmt.Errorf("%T", a)
		}
	}
	return nil
}
