package operator

import (
	"strings"
	"testing"
	"testing/synctest"

	"flashsale/infra/ops/cli"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestAPaymentThatWasNeverReportedIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Stock: 2, Price: 89900})
		orders := map[string]string{"none": "523415642750058497", "old": "323415642750058497"}
		for _, user := range []string{"alice", "bob"} {
			orders[user] = orderid.String(ordered(t, book, user))
		}
		if _, err := book.Cancel(t.Context(), "moutai", "bob"); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			user, payment, amount string
			sure                  bool
			want                  []string
		}{
			{"alice", "pi_1", "89900", false, []string{"order " + orders["alice"] + " is of alice in sale moutai: CONFIRMED; its price is 89900 CNY",
				"89900 CNY of stripe#pi_1 for order " + orders["alice"] + " of sale moutai would be recorded, for ever; nothing was recorded"}},
			{"alice", "pi_1", "89900", true, []string{"stripe#pi_1: paid; recorded now"}},
			{"alice", "pi_1", "89900", false, []string{": PAID;", "stripe#pi_1 is recorded already, and nothing would change"}},
			{"alice", "pi_1", "89900", true, []string{"stripe#pi_1: paid; recorded before, and nothing changed now"}},
			{"bob", "pi_1", "5", false, []string{"recorded for another order or amount, and the first report decides"}},
			{"bob", "pi_1", "5", true, []string{"stripe#pi_1: paid; recorded before", "recorded for another order or amount, and the first report decides"}},
			{"alice", "pi_2", "89900", true, []string{"stripe#pi_2: refund due, because: other-payment; recorded now"}},
			{"bob", "pi_3", "89900", true, []string{"stripe#pi_3: refund due, because: released; recorded now"}},
			{"bob", "pi_3", "89900", true, []string{"stripe#pi_3: refund due, because: released; recorded before, and nothing changed now"}},
			{"bob", "pi_4", "899", true, []string{"stripe#pi_4: refund due, because: amount; recorded now"}},
			{"old", "pi_6", "89900", false, []string{"there is no order 323415642750058497", "would be recorded, for ever; nothing was recorded"}},
			{"old", "pi_6", "89900", true, []string{"there is no order 323415642750058497", "refund due, because: unknown-order; recorded now"}},
			{"none", "pi_5", "89900", false, []string{"the payment's order does not exist yet; repeat the command"}},
			{"none", "pi_5", "89900", true, []string{"the payment's order does not exist yet; repeat the command"}},
		} {
			command := "payment record --provider stripe --sale moutai --currency cny --order " + orders[tt.user] + " --payment " + tt.payment + " --amount " + tt.amount
			if tt.sure {
				command += " --yes"
			} else {
				command += " --dry-run"
			}
			before := len(db.Items("T"))
			said, code := does(t, db, command)
			contains(t, said, tt.want...)
			if strings.Contains(said, "another order") != (code == cli.ExitBad) {
				t.Errorf("exit %d, %s", code, said)
			}
			if grown := len(db.Items("T")) - before; (grown > 0) != strings.Contains(said, "recorded now") {
				t.Errorf("%s %s %t: %d items more after\n%s", tt.user, tt.payment, tt.sure, grown, said)
			}
		}
	})
}
