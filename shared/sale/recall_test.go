package sale

import "testing"

func TestARecallIsOfAValidSale(t *testing.T) {
	if err := (&Recall{SaleID: "mou tai"}).Check(); CodeOf(err) != InvalidRequest {
		t.Errorf("Check() = %v, want %s", err, InvalidRequest)
	}
}
