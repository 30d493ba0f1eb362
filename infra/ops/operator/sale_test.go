package operator

import (
	"strings"
	"testing"

	"flashsale/infra/ops/cli"
)

// told is the list that the function tells at noon, and how the command then ends.
func told(t *testing.T, sales string, flags ...string) (said string, code int) {
	t.Helper()
	return answering(`{"asOf":"2026-11-11T12:00:00.000Z","version":"1","sales":[`+sales+`]}`).does(t, "sale list", flags...)
}

func TestASaleIsListedAsItIsNowAndThenAsItsLastAuditFoundIt(t *testing.T) {
	const books = `"books":{"asOf":"2026-11-11T11:59:26.000Z","stock":7,"seeded":10,"claims":3,"pending":1,"confirmed":2,"balanced":true,"findings":[]`
	const of = `{"saleId":"a","state":"OPEN","closesAt":"2026-11-11T14:00:00.000Z","seeded":12,`
	for want, one := range map[string]string{
		"a OPEN 2026-11-11T14:00:00Z 12 34s ago 7 1 0 0 0 0 balanced -":            of + books + `}}`,
		"a OPEN 2026-11-11T14:00:00Z 12 - - - - - - - - -":                         of + `"books":null}`,
		"a CLOSED, drained 2026-11-11T14:00:00Z 12 34s ago 7 1 0 0 0 0 balanced -": strings.Replace(of, "OPEN", "CLOSED", 1) + `"drained":true,` + books + `}}`,
		"a OPEN, recalled 2026-11-11T14:00:00Z 12 34s ago 7 1 3 4 2 1 balanced -":  of + `"recalledAt":"2026-11-11T11:00:00.000Z",` + books + `,"paid":3,"unpaid":4,"released":2,"refundsDue":1}}`,
		"a RECALLED: soles 2026-11-11T14:00:00Z 12 - ":                             strings.Replace(of, "OPEN", "RECALLED", 1) + `"recalledAt":"2026-11-11T11:00:00.000Z","recallNote":"soles","books":null}`,
		"a OPEN 2026-11-11T14:00:00Z 12 0s ago 7 ":                                 of + strings.Replace(books, "11:59:26", "12:00:26", 1) + `}}`,
	} {
		if said, code := told(t, one); code != 0 || !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			t.Errorf("exit %d, %s is listed as\n%s", code, one, said)
		}
	}
	one := of + books + `}}`
	if said, code := told(t, one, "-o", "json"); code != 0 || said != "1 sales, release 1\n[\n  "+one+"\n]\n" {
		t.Errorf("exit %d, %s is\n%s", code, one, said)
	}
	const wrong = `{"saleId":"wrong","state":"OPEN","closesAt":"2026-11-11T14:00:00Z","books":{"asOf":"2026-11-11T11:59:26Z","balanced":false,"findings":["x"]}}`
	said, code := told(t, wrong+","+one)
	if contains(t, said, "NOT BALANCED", "\nflashsale: the books do not balance: `flashsale books receipt wrong --env dev`\n"); code != cli.ExitBad {
		t.Errorf("exit %d", code)
	}
	said, code = told(t, wrong+`,{"saleId":"unread","error":"newer-version"},`+one)
	if contains(t, said, "newer-version", "the list is not complete: 1 of 3 sales could not be read"); code != cli.ExitUnknown {
		t.Errorf("exit %d", code)
	}
	many := answering(`{"saleId":"a","changes":[{"n":201}],"more":true}`)
	many.says(t, "sale show a", 0, "\nmore: true\n")
	many.says(t, "sale add a --stock 1 --id old --dry-run", 0, `it would get units more, stock "1", unless an older change has the id`)
}
