package main

import "testing"

func TestASaleIsQuietOnceEveryClaimHasItsOrder(t *testing.T) {
	_, s := sold()
	if _, ok := quiet(s); !ok {
		t.Error("a sound sale is not quiet")
	}
	s.Claims[2].OrderID = ""
	delete(s.Orders, "101")
	if oldest, ok := quiet(s); ok || !oldest.Equal(noon) {
		t.Errorf("oldest %v, quiet %v; want the claim whose order is missing, the older of the two", oldest, ok)
	}
}
