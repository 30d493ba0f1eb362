package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	system "flashsale/infra/ops/place"
)

// told is the list that the function tells at noon.
func told(t *testing.T, sales string) (saleList, string) {
	t.Helper()
	var list saleList
	if err := json.Unmarshal([]byte(`{"asOf":"2026-11-11T12:00:00.000Z","actor":"ada","role":"operator","sales":[`+sales+`]}`), &list); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := list.print(&out, &place{where: &system.Flags{Env: "dev"}}); err != nil {
		t.Fatal(err)
	}
	return list, out.String()
}

func TestASaleIsListedAsItIsNowAndThenAsItsLastAuditFoundIt(t *testing.T) {
	const books = `"books":{"asOf":"2026-11-11T11:59:26.000Z","stock":7,"seeded":10,"claims":3,"pending":1,"confirmed":2,"balanced":true,"findings":[]`
	const of = `{"saleId":"a","state":"OPEN","closesAt":"2026-11-11T14:00:00.000Z","seeded":12,`
	for want, one := range map[string]string{
		"a OPEN 2026-11-11T14:00:00Z 12 34 s ago 7 of 10 1 balanced":                                                        of + books + `}}`,
		"a OPEN 2026-11-11T14:00:00Z 12 none yet":                                                                           of + `"books":null}`,
		"a CLOSED, drained 2026-11-11T14:00:00Z 12 34 s ago 7 of 10 1 balanced":                                             strings.Replace(of, "OPEN", "CLOSED", 1) + `"drained":true,` + books + `}}`,
		"a OPEN 2026-11-11T14:00:00Z 12 34 s ago 7 of 10 1 balanced; 1 paid, 1 unpaid, 0 released":                          of + books + `,"paid":1,"unpaid":1}}`,
		"a OPEN, recalled 2026-11-11T14:00:00Z 12 34 s ago 7 of 10 1 balanced; 0 paid, 0 unpaid, 2 released, 1 REFUNDS DUE": of + `"recalledAt":"2026-11-11T11:00:00.000Z",` + books + `,"released":2,"refundsDue":1}}`,
		"a OPEN, recalled: soles 2026-11-11T14:00:00Z 12 none yet":                                                          of + `"recalledAt":"2026-11-11T11:00:00.000Z","recallNote":"soles","books":null}`,
		"a RECALLED: soles 2026-11-11T14:00:00Z 12 none yet":                                                                strings.Replace(of, "OPEN", "RECALLED", 1) + `"recalledAt":"2026-11-11T11:00:00.000Z","recallNote":"soles","books":null}`,
		"a OPEN 2026-11-11T14:00:00Z 12 20 min ago 7 of 10 1 balanced":                                                      of + strings.Replace(books, "11:59:26", "11:39:26", 1) + `}}`,
		"a OPEN 2026-11-11T14:00:00Z 12 3 h ago 7 of 10 1 balanced":                                                         of + strings.Replace(books, "11:59:26", "08:59:26", 1) + `}}`,
		"a OPEN 2026-11-11T14:00:00Z 12 0 s ago 7 of 10 1 balanced":                                                         of + strings.Replace(books, "11:59:26", "12:00:26", 1) + `}}`,
	} {
		_, said := told(t, one)
		if lines := strings.Split(said, "\n"); len(lines) != 3 || strings.Join(strings.Fields(lines[1]), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%s is listed as\n%s", one, said)
		}
	}
}

func TestEverySaleIsListedAlsoIfOneIsWrongOrCannotBeRead(t *testing.T) {
	const wrong = `{"saleId":"wrong","state":"OPEN","closesAt":"2026-11-11T14:00:00Z","books":{"asOf":"2026-11-11T11:59:26Z","balanced":false,"findings":["x"]}}`
	const unread = `{"saleId":"unread","error":"newer-version"}`
	const fine = `{"saleId":"fine","state":"OPEN","closesAt":"2026-11-11T14:00:00Z","books":{"asOf":"2026-11-11T11:59:26Z","balanced":true}}`
	list, said := told(t, wrong+","+fine)
	if err := list.verdict(); !errors.Is(err, errBroken) || !strings.Contains(said, "NOT BALANCED: `flashsale books receipt wrong --env dev`\n") || !strings.Contains(said, " balanced\n") {
		t.Errorf("%v: %s", err, said)
	}
	list, said = told(t, wrong+","+unread+","+fine)
	if err := list.verdict(); err == nil || errors.Is(err, errBroken) || err.Error() != "the list is not complete: 1 of 3 sales could not be read" ||
		!strings.Contains(said, "not read: newer-version\n") || strings.Count(said, "\n") != 4 {
		t.Errorf("%v: %s", err, said)
	}
}

func TestTheListOfAGroupHasItsSalesAlone(t *testing.T) {
	const a, b, c = `{"saleId":"a","seeded":1}`, `{"saleId":"b","seeded":2}`, `{"saleId":"c","seeded":3}`
	answer := json.RawMessage(`{"sales":[` + a + "," + b + "," + c + `],"version":"1"}`)
	var list saleList
	if err := json.Unmarshal(answer, &list); err != nil {
		t.Fatal(err)
	}
	got, err := list.keep([]string{"a", "c"}, answer)
	if want := `{"sales":[` + a + "," + c + `],"version":"1"}`; err != nil || string(got) != want || len(list.Sales) != 2 || list.Sales[1].SaleID != "c" {
		t.Errorf("got %s and %v (%v), want %s", got, list.Sales, err, want)
	}
}
