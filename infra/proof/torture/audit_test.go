package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

func TestAnAuditFindsWhatIsWrongWithTheTableAndItsAnswers(t *testing.T) {
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	incomplete := books.Of([]map[string]types.AttributeValue{{"pk": text("SALE#s"), "sk": text("SALE")}})
	for _, c := range []struct {
		name string
		all  *books.Books
		want string
	}{
		{"the whole sale is lost", books.Of(nil), "(P11)"},
		{"a finding of the recount", incomplete, "the CREATE item is missing"},
		{"an answer that the table denies", incomplete, `ann got claim c1, but the table has "" (P4)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &testSale{id: "s", answers: verdict.New(verdict.Sale{})}
			e.answers.Clicked("ann", false, verdict.Span{}, client.Accepted, client.Answer{Claim: client.Claim{ClaimID: "c1"}})
			if found := fmt.Sprint(e.audit(t.Context(), c.all)); !strings.Contains(found, c.want) {
				t.Errorf("found %s, want %q", found, c.want)
			}
		})
	}
}
