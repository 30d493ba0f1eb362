package ids

import (
	"context"

	"flashsale/infra/lab/shop"
)

// Issue makes one or more ids, in the order in which they are to sort. Each
// application server has one of its own.
type Issue func(ctx context.Context) ([]string, error)

// Generator is one way to make ids.
type Generator struct {
	// Name is unique; Does says in one line how an id comes about.
	Name, Does string
	// Needs is the engine that it cannot do without, "" for none.
	Needs shop.Need
	// Open connects one application server; close ends that.
	Open func(ctx context.Context, p shop.Place) (issue Issue, close func() error, err error)
}

// All are the lab's generators.
func All() []Generator {
	return []Generator{randomUUID(), timeUUID(), autoIncrement(), datedCounter(), blocks()}
}

func nothingToClose() error { return nil }
