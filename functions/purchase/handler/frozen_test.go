package handler

import (
	"io"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/clock/clocktest"
	"flashsale/shared/eligibility"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// TestAnEnvironmentThatWasFrozenSellsWhatIsThereNow freezes a whole environment of the
// function: its ledger, its check on users and their caches.
func TestAnEnvironmentThatWasFrozenSellsWhatIsThereNow(t *testing.T) {
	paused, resumed := true, false
	for name, tt := range map[string]struct {
		before, meanwhile func(*hall) error
		want              sale.Code // before the freeze
	}{
		"sold out, then restocked": {
			func(h *hall) error {
				_, err := h.Ledger().Purchase(h.T.Context(), ledger.Request{SaleID: "moutai", User: "quicker"})
				return err
			},
			func(h *hall) error {
				_, err := h.Ledger().Add(h.T.Context(), sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1})
				return err
			},
			sale.SoldOut,
		},
		"paused, then resumed": {
			func(h *hall) error {
				_, err := h.Ledger().Edit(h.T.Context(), sale.Edit{SaleID: "moutai", At: time.UnixMilli(1), Paused: &paused})
				return err
			},
			func(h *hall) error {
				_, err := h.Ledger().Edit(h.T.Context(), sale.Edit{SaleID: "moutai", At: time.UnixMilli(2), Paused: &resumed})
				return err
			},
			sale.Paused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, 1, func(h *hall) {
				environment := clocktest.New()
				users, err := eligibility.New(eligibility.Options{
					URL: "https://check.example.com", Timeout: 300 * time.Millisecond, Concurrency: 1, Transport: h.office, Now: environment.Wall,
				})
				if err != nil {
					t.Fatal(err)
				}
				book := h.LedgerWith(ledger.Options{Now: environment.Wall})
				handler := New(book, &h.queue, telemetry.New(io.Discard, "purchase", environment.Wall), environment.Wall).Checking(users)
				frozen := lambda.NewHandler(httpapi.Serve(handler.Handle))

				if err := tt.before(h); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if a := h.buy(frozen, event(t, "purchase.json")); a.code != tt.want {
						t.Fatalf("before: %+v, want %s", a, tt.want)
					}
				}
				if err := tt.meanwhile(h); err != nil {
					t.Fatal(err)
				}
				if a := h.buy(frozen, event(t, "purchase.json")); a.code != tt.want {
					t.Fatalf("within a second: %+v, want %s from memory", a, tt.want)
				}
				environment.Freeze(20 * time.Minute)
				if a := h.buy(frozen, event(t, "purchase.json")); a.status != 202 {
					t.Errorf("after the freeze: %+v, want 202", a)
				}
			})
		})
	}
}
