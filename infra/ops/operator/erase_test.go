package main

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"

	"flashsale/shared/sale"
)

func TestAPersonIsErasedOnceTheirSalesAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, book := opened(t, sale.Creation{Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		erases := func(sure bool, fails error, want ...string) {
			t.Helper()
			var out bytes.Buffer
			if err := erasePerson(t.Context(), book, "alice", sure, &out); !errors.Is(err, fails) {
				t.Errorf("%t: got %v, want %v", sure, err, fails)
			}
			contains(t, out.String(), want...)
		}
		for _, sure := range []bool{false, true} {
			erases(sure, errNotDone, "NOT ERASED: the sale moutai is not drained")
		}
		pay(t, book, "pi_1", order, 89900)
		drained(t, book)
		erases(false, nil, "moutai  order ", "nothing was erased: GO=1 erases alice in these 1 sales")
		erases(true, nil, "moutai  erased\n", "alice was erased in 1 sales")
		for _, sure := range []bool{false, true} {
			erases(sure, errNotDone, "NOT ERASED: no sale holds anything of alice")
		}
	})
}
