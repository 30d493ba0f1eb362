package operator

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"flashsale/infra/kit/spreadsheet/spreadsheettest"
	"flashsale/infra/ops/cli"
	"flashsale/shared/sale"
)

func TestAProvidersListMarksWhatWasPaidBackWholeAndNothingElse(t *testing.T) {
	refs := [5]string{"pi_whole", "pi_paid", "pi_failed", "pi_part", "pi_halves"}
	for _, list := range spreadsheettest.RefundLists("0.08", "0.04", refs) {
		t.Run(list.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
				order, file := ordered(t, book, "alice"), filepath.Join(t.TempDir(), "list.csv")
				for _, ref := range refs {
					pay(t, book, ref, order, 8)
				}
				if err := os.WriteFile(file, list.File, 0o600); err != nil {
					t.Fatal(err)
				}
				want, wantCode := []string{"pi_whole"}, cli.ExitFine
				if list.Says {
					want, wantCode = []string{"pi_halves", "pi_whole"}, cli.ExitBad
				}
				said, code := desk(t, db, book).does(t, "refund mark --sale moutai --file "+file)
				refunds, err := book.Refunds(t.Context(), "moutai")
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range refunds {
					if !r.RefundedAt.IsZero() {
						got = append(got, r.Payment[len("stripe#"):])
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) || code != wantCode {
					t.Errorf("marked %v, exit %d, want %v, exit %d: %s", got, code, want, wantCode, said)
				}
				if list.Says {
					contains(t, said, "stripe#pi_part, 0.08 CNY, is not marked: the file pays 0.04 ", " of other kinds")
				}
			})
		})
	}
}

func TestAPackedFileIsRefusedInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := opened(t, sale.Creation{Stock: 2, Price: 129900})
		for _, head := range []string{"PK\x03\x04", "\x1f\x8b\x08"} { // Alipay's bill and a workbook; WeChat Pay's, if asked for
			file := filepath.Join(t.TempDir(), "bill")
			if err := os.WriteFile(file, []byte(head+"\n1,2\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			tells(t, db, "refund mark --file "+file, cli.ExitUsage, "is packed, or a workbook: unpack it, or save it as CSV")
		}
	})
}

func TestAnAmountThatCannotBeComparedMarksNothing(t *testing.T) {
	for name, tt := range map[string]struct{ rows, said string }{
		"that cannot be read":               {"pi_1;refund;1,500;cny", "1,500"},
		"after one that is not said":        {"pi_1;refund;;cny\npi_1;refund;1,500;cny", "1,500"},
		"in another currency":               {"pi_1;refund;8.00;eur", "8.00 EUR"},
		"in no currency, and less":          {"pi_1;refund;0.07;", "0.07"},
		"in a currency and then in another": {"pi_1;refund;0.04;cny\npi_1;refund;8.00;eur", "8.00 EUR"},
	} {
		synctest.Test(t, func(t *testing.T) {
			db, book := opened(t, sale.Creation{Stock: 2, Price: 129900})
			pay(t, book, "pi_1", ordered(t, book, "alice"), 8)
			file := filepath.Join(t.TempDir(), "list.csv")
			if err := os.WriteFile(file, []byte("payment_intent_id;reporting_category;gross;currency\n"+tt.rows+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Log(name)
			tells(t, db, "refund mark --dry-run --file "+file, cli.ExitBad, "is not marked: the file pays "+tt.said+" of it back")
		})
	}
}
