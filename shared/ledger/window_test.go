package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestAShardThatAnEditHasNotReachedIsFoundFiveMinutesAfterTheFirstPassThatKnewOfTheEdit(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(20, 2)
	a := &ledger.Audit{SaleID: "moutai"}
	// differs makes a pass, and reports whether it has a finding on the shard.
	differs := func() bool {
		t.Helper()
		for a = a.Next(); ; {
			switch r, err := w.Ledger.Step(w.Ctx, a, func(sale.Claim) {}); {
			case err != nil:
				t.Fatal(err)
			case r != nil:
				return strings.Contains(strings.Join(r.Findings, "\n"), "shard 1: its window or pause differs")
			}
		}
	}
	differs() // so that later passes know the sale's first version
	for _, edit := range []sale.Edit{{Paused: aws.Bool(true)}, {Paused: aws.Bool(false)}} {
		w.Pass(10 * time.Minute)
		edit.SaleID, edit.At = "moutai", w.Now()
		if _, err := w.Ledger.Edit(w.Ctx, edit); err != nil {
			t.Fatal(err)
		}
		if _, err := db.UpdateItem(w.Ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(table), UpdateExpression: aws.String("SET paused = :before"),
			Key: map[string]types.AttributeValue{"pk": text("STOCK#moutai#1"), "sk": text("STOCK")},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":before": &types.AttributeValueMemberBOOL{Value: !*edit.Paused},
			},
		}); err != nil {
			t.Fatal(err)
		}
		for _, after := range []time.Duration{0, 5*time.Minute - time.Millisecond, time.Millisecond} {
			w.Pass(after)
			if got, want := differs(), after == time.Millisecond; got != want {
				t.Errorf("paused %t, %v after the pass before: found %t, want %t", *edit.Paused, after, got, want)
			}
		}
	}
}
