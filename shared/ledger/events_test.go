package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Otherwise those environments of a canary that cannot read the sale would take the read
// units of those that can.
func TestACrowdInASaleOfANewerVersionReadsItRarely(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(20, 2)
	if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "minReader", sale.Reads+1); err != nil {
		t.Fatal(err)
	}
	db.ResetUsage()
	ask := func(want int) {
		t.Helper()
		for range 100 {
			_, err := w.Buy("alice")
			w.Refused(sale.NewerVersion, err)
			_, err = w.Ledger.Sale(w.Ctx, "moutai")
			w.Refused(sale.NewerVersion, err)
		}
		if n := db.Calls()["GetItem"]; n != want {
			t.Errorf("%d reads, want %d", n, want)
		}
	}
	ask(1)
	w.Pass(1499 * time.Millisecond)
	ask(1)
	w.Pass(time.Millisecond)
	ask(2)
	if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "minReader", -1); err != nil {
		t.Fatal(err)
	}
	w.Pass(1500 * time.Millisecond)
	w.Accepted(w.Buy("alice"))
}

// What else an image holds is read in functions/publish.
func TestAnImageHasSetsOfTextsAndNothingOfATypeThatTheLedgerDoesNotUse(t *testing.T) {
	var got ledger.Image
	err := json.Unmarshal([]byte(`{"texts":{"SS":["a","b"]},"bytes":{"B":"AA=="}}`), &got)
	texts, isSet := got["texts"].(*types.AttributeValueMemberSS)
	if _, isNull := got["bytes"].(*types.AttributeValueMemberNULL); err != nil || !isSet || !slices.Equal(texts.Value, []string{"a", "b"}) || !isNull {
		t.Errorf("got %v (%v)", got, err)
	}
}
