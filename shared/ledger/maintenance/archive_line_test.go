package maintenance

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"flashsale/shared/ledger/table"
)

// Other versions read these lines, and other people's programs.
func TestALineOfAnArchiveIsAsTheStandardLibraryWritesItAndIsReadBack(t *testing.T) {
	it := table.With(table.Key("SALES", "s"), table.Item{"paused": table.Yes, "at": table.N(-1), "ids": table.SS("b", `a"`), "empty": table.NS(10, 2)})
	image := map[string]any{
		"pk": map[string]any{"S": "SALES"}, "sk": map[string]any{"S": "s"}, "paused": map[string]any{"BOOL": true}, "at": map[string]any{"N": "-1"},
		"ids": map[string]any{"SS": []string{`a"`, "b"}}, "empty": map[string]any{"NS": []string{"10", "2"}},
	}
	for i, text := range []string{"", "plain ~", `"`, `\`, "<>&", "é 茅台 🍶", "\n\t\x00\x7f", "\u2028"} {
		it[fmt.Sprint(i)+text], image[fmt.Sprint(i)+text] = table.S(text), map[string]any{"S": text}
	}
	want, err := json.Marshal(image)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := new(lines).of(it)
	if err != nil || string(got) != string(want)+"\n" {
		t.Errorf("got  %s(%v), want\n     %s", got, err, want)
	}
	it["ids"] = table.SS(`a"`, "b") // a set has no order
	if read, err := readLine(got); err != nil || !reflect.DeepEqual(read, it) {
		t.Errorf("got %v (%v), want %v", read, err, it)
	}
}
