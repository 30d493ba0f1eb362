package ids

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"flashsale/infra/lab/shop"
)

func randomUUID() Generator {
	return Generator{Name: "uuid-v4", Does: "122 random bits", Open: ofUUIDs(uuid.NewRandom)}
}

func timeUUID() Generator {
	return Generator{Name: "uuid-v7", Does: "milliseconds, then 74 random bits", Open: ofUUIDs(uuid.NewV7)}
}

func ofUUIDs(next func() (uuid.UUID, error)) func(context.Context, shop.Place) (Issue, func() error, error) {
	return func(context.Context, shop.Place) (Issue, func() error, error) {
		return func(context.Context) ([]string, error) {
			id, err := next()
			if err != nil {
				return nil, fmt.Errorf("make uuid: %w", err)
			}
			return []string{id.String()}, nil
		}, nothingToClose, nil
	}
}
