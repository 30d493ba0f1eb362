package fleet

import (
	"testing"
	"time"

	"flashsale/infra/lab/shop"
)

func TestSomePassingsOfAPointAreSlowAndNoneOfASmoothSale(t *testing.T) {
	c := config{Slow: []Slow{{shop.Read, 2, 3, time.Minute}}}
	i := newInterruptions(c)
	for pass := 1; pass <= 4; pass++ {
		pause, n := i.pass(shop.Read)
		if slow := pause == time.Minute; n != pass || slow != (pass == 2 || pass == 3) {
			t.Errorf("passing %d is %d and takes %v", pass, n, pause)
		}
	}
	if pause, _ := i.pass(shop.Taken); pause == time.Minute {
		t.Error("another point is slow")
	}
	c.Smooth, c.Slow[0].From = true, 1
	i = newInterruptions(c)
	i.at(t.Context(), shop.Read)
	if err := i.checkUser(t.Context(), "a"); err != nil {
		t.Errorf("a smooth sale asks for the user: %v", err)
	}
}
