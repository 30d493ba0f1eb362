package stack

import (
	"strings"
	"testing"
)

// The buyer's page shows no button for such an address.
func TestAPaymentAddressThatNoBuyerSeesStopsTheStart(t *testing.T) {
	for _, address := range []string{"http://shop.example/pay", "http://127.0.0.1:8080/pay", "shop.example/pay"} {
		s, err := Start(t.Context(), Options{Root: "../../..", Data: t.TempDir(), Parameters: map[string]string{"PaymentUrl": address}})
		if err == nil {
			t.Fatalf("%s: it started: %v", address, s.Stop())
		}
		for _, want := range []string{"Parameters.PaymentUrl", address, "must be a URL that begins with https://, or a path on the page's own origin"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", address, err, want)
			}
		}
	}
}
