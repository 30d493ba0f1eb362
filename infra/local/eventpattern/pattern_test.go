package eventpattern

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const confirmed = `{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"CLAIM#"}]}},"NewImage":{"orderId":{"N":[{"exists":true}]}},"OldImage":{"orderId":{"N":[{"exists":false}]}}}}`

func TestRecordsMatchAsEventBridgeSays(t *testing.T) {
	for _, tt := range []struct {
		name, pattern, dynamodb string
		want                    bool
	}{
		{"newly set", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"NewImage":{"orderId":{"N":"7"}},"OldImage":{"user":{"S":"u"}}}`, true},
		{"an insert has no old image", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"NewImage":{"orderId":{"N":"7"}}}`, true},
		{"set before", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"NewImage":{"orderId":{"N":"7"}},"OldImage":{"orderId":{"N":"7"}}}`, false},
		{"not set", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"NewImage":{"user":{"S":"u"}}}`, false},
		{"removed", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"OldImage":{"orderId":{"N":"7"}}}`, false},
		{"another type", confirmed, `{"Keys":{"pk":{"S":"CLAIM#m#u"}},"NewImage":{"orderId":{"S":"7"}}}`, false},
		{"another item", confirmed, `{"Keys":{"pk":{"S":"SALE#m"}},"NewImage":{"orderId":{"N":"7"}}}`, false},
		{"case counts", confirmed, `{"Keys":{"pk":{"S":"claim#m#u"}},"NewImage":{"orderId":{"N":"7"}}}`, false},
		{"one of two values", `{"dynamodb":{"Keys":{"sk":{"S":["SALE","LISTING"]}}}}`, `{"Keys":{"sk":{"S":"LISTING"}}}`, true},
		{"none of two values", `{"dynamodb":{"Keys":{"sk":{"S":["SALE","LISTING"]}}}}`, `{"Keys":{"sk":{"S":"SALES"}}}`, false},
		{"equal to true", `{"dynamodb":{"NewImage":{"drained":{"BOOL":[true]}}}}`, `{"NewImage":{"drained":{"BOOL":true}}}`, true},
		{"the string is not true", `{"dynamodb":{"NewImage":{"drained":{"BOOL":[true]}}}}`, `{"NewImage":{"drained":{"BOOL":"true"}}}`, false},
		{"equal to null", `{"dynamodb":{"NewImage":{"x":[null]}}}`, `{"NewImage":{"x":null}}`, true},
		{"absent is not null", `{"dynamodb":{"NewImage":{"x":[null]}}}`, `{"NewImage":{}}`, false},
		{"an element of a list", `{"dynamodb":{"NewImage":{"tags":{"SS":["b"]}}}}`, `{"NewImage":{"tags":{"SS":["a","b"]}}}`, true},
		{"a field of an element", `{"dynamodb":{"NewImage":{"l":{"L":{"S":["b"]}}}}}`, `{"NewImage":{"l":{"L":[{"S":"a"},{"S":"b"}]}}}`, true},
		{"an object does not exist", `{"dynamodb":{"NewImage":{"orderId":[{"exists":true}]}}}`, `{"NewImage":{"orderId":{"N":"7"}}}`, false},
		{"an object is absent", `{"dynamodb":{"NewImage":{"orderId":[{"exists":false}]}}}`, `{"NewImage":{"orderId":{"N":"7"}}}`, true},
		{"absent or a value", `{"dynamodb":{"OldImage":{"state":{"S":[{"exists":false},"PENDING"]}}}}`, `{"OldImage":{"state":{"S":"PENDING"}}}`, true},
		{"neither absent nor the value", `{"dynamodb":{"OldImage":{"state":{"S":[{"exists":false},"PENDING"]}}}}`, `{"OldImage":{"state":{"S":"PAID"}}}`, false},
		{"a number has no prefix", `{"dynamodb":{"SizeBytes":[{"prefix":"1"}]}}`, `{"SizeBytes":12}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Compile(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			var record map[string]any
			if err := json.Unmarshal(fmt.Appendf(nil, `{"eventName":"MODIFY","dynamodb":%s}`, tt.dynamodb), &record); err != nil {
				t.Fatal(err)
			}
			if got := p.Match(record); got != tt.want {
				t.Errorf("matches: %v", got)
			}
		})
	}
}

func TestWhatLambdaOrThisPackageDoesNotKnowIsRefused(t *testing.T) {
	inside := func(s string) string { return `{"dynamodb":{"NewImage":{"n":{"N":` + s + `}}}}` }
	for _, text := range []string{
		"", "{", "null", "[]", `"dynamodb"`, "{}", `{"dynamodb":{}}`, `{"dynamodb":[]}`, `{"dynamodb":"x"}`,
		`{"eventName":["INSERT"]}`, `{"dynamodb":{"Keys":{"pk":{"S":["a"]}}},"eventName":["INSERT"]}`,
		`{"dynamodb":{"Keys":{"pk":{"S":["a"]}},"Keys":{"pk":{"S":["b"]}}}}`,
		`{"dynamodb":{"$or":[{"a":["b"]},{"c":["d"]}]}}`,
		inside(`"1"`), inside(`[]`), inside(`[{}]`), inside(`[["1"]]`), inside(`[1]`), inside(`[{"numeric":[">",1]}]`),
		inside(`[{"suffix":"1"}]`), inside(`[{"anything-but":"1"}]`), inside(`[{"exists":"true"}]`), inside(`[{"prefix":1}]`),
		inside(`[{"prefix":""}]`), inside(`[{"exists":true,"prefix":"1"}]`), inside(`[{"prefix":"` + strings.Repeat("x", maxLength) + `"}]`),
	} {
		if p, err := Compile(text); err == nil {
			t.Errorf("%s was read as %+v", text, p)
		}
	}
}
