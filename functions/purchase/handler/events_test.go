package handler

import (
	"testing"

	"flashsale/shared/sale"
)

func TestEveryEventOfThisFunctionIsAnswered(t *testing.T) {
	tests := map[string]struct {
		status int
		code   sale.Code
	}{
		"purchase.json":            {202, ""},
		"purchase-idempotent.json": {202, ""},
		"purchase-no-token.json":   {401, sale.Unauthorized},
		"purchase-bad-body.json":   {400, sale.InvalidRequest},
		"purchase-enter.json":      {404, sale.DrawNotFound}, // see entering_test.go
		"purchase-entry.json":      {404, sale.DrawNotFound},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				r := f.invoke(t, t.Context(), event(t, name))
				if tt.code == "" {
					isAccepted(t, r)
					return
				}
				refused(t, r, tt.status, tt.code)
			})
		})
	}
}
