package handler

import (
	"context"
	"errors"
	"slices"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// shownMinutes are those of the chart.
const shownMinutes = 60

// The results of purchases by the line of the chart that counts them. No line counts what a buyer's page
// does not send, such as a request without a token: that is a flood's.
var (
	acceptedResults = []string{"accepted"}
	refusedResults  = spelled(sale.SoldOut, sale.NotEnough, sale.AlreadyOrdered, sale.NotOpen, sale.Closed, sale.Paused,
		sale.Recalled, sale.NotEligible, sale.NotYourTurn, sale.TurnOver, sale.TooManyRequests)
	busyResults = spelled(sale.Busy, sale.Internal)
)

func spelled(codes ...sale.Code) (results []string) {
	for _, code := range codes {
		results = append(results, telemetry.Result(code))
	}
	return results
}

// ratesPage counts the answers to purchases in all sales, in steps of Every seconds since From.
type ratesPage struct {
	AsOf     string  `json:"asOf"`
	From     string  `json:"from"`
	Every    int     `json:"every"`
	Accepted []int64 `json:"accepted"`
	Refused  []int64 `json:"refused"`
	Busy     []int64 `json:"busy"`
}

// rates tells how many purchases were accepted, refused and told to try again in each whole minute of
// the last hour.
func (h *Handler) rates(ctx context.Context, _ *request, _ *telemetry.Event) (any, error) {
	if h.Stack == nil {
		return nil, sale.Fail(sale.Internal, errors.New("there is no stack"))
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	now := h.now()
	from := now.Truncate(time.Minute).Add(-shownMinutes * time.Minute)
	counts, err := h.Stack.Purchases(ctx, from, shownMinutes, slices.Concat(acceptedResults, refusedResults, busyResults))
	if err != nil {
		return nil, sale.Fail(sale.Busy, err)
	}
	sum := func(results []string) []int64 {
		line := make([]int64, shownMinutes)
		for _, result := range results {
			for i, n := range counts[result] {
				line[i] += n
			}
		}
		return line
	}
	return ratesPage{
		AsOf: httpapi.Time(now), From: httpapi.Time(from), Every: 60,
		Accepted: sum(acceptedResults), Refused: sum(refusedResults), Busy: sum(busyResults),
	}, nil
}
