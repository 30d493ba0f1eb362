package orderq

import (
	"strings"
	"testing"

	"flashsale/shared/sale"
)

func TestAMessageSurvivesItsWayThroughTheQueue(t *testing.T) {
	for _, m := range []Message{
		{SaleID: "moutai", User: "alice", ClaimID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA"},
		{SaleID: strings.Repeat("s", 64), User: strings.Repeat("𠀀", 128), ClaimID: strings.Repeat("c", 64)},
		{SaleID: "moutai", User: "用户", ClaimID: "C1", Buckets: sale.MaxShards},
		{SaleID: "a", User: `<script>"&'\ SALE#1`, ClaimID: "-"},
	} {
		body := Encode(m)
		if len(body) > 1<<10 {
			t.Errorf("the body has %d bytes, want at most 1 KiB", len(body))
		}
		if back, err := Decode(body); back != m || err != nil {
			t.Errorf("Decode(Encode(%+v)) = %+v, %v", m, back, err)
		}
	}
}

// Functions of other deployments read these bytes: they must not change.
func TestAMessageIsWrittenTheSameWayForever(t *testing.T) {
	c := sale.Claim{SaleID: "moutai", User: "alice", ID: "C1", Shard: 3, RequestKey: "k", OrderID: 7}
	if got, want := Encode(Of(c)), `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1"}`; got != want {
		t.Errorf("Encode = %s, want %s", got, want)
	}
	c.Buckets = 13
	if got, want := Encode(Of(c)), `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1","buckets":13}`; got != want {
		t.Errorf("Encode = %s, want %s", got, want)
	}
}

func TestAMessageThatCanNeverBeProcessedIsPoison(t *testing.T) {
	for _, tt := range []struct{ name, body string }{
		{"nothing", ""},
		{"null", "null"},
		{"an empty object", "{}"},
		{"no version", `{"saleId":"moutai","user":"alice","claimId":"C1"}`},
		{"version 0", `{"v":0,"saleId":"moutai","user":"alice","claimId":"C1"}`},
		{"a newer version that is cut", `{"v":2,"saleId":"moutai"`},
		{"a version as a string", `{"v":"1","saleId":"moutai","user":"alice","claimId":"C1"}`},
		{"no sale", `{"v":1,"user":"alice","claimId":"C1"}`},
		{"a sale with a separator", `{"v":1,"saleId":"moutai#STOCK","user":"alice","claimId":"C1"}`},
		{"no user", `{"v":1,"saleId":"moutai","claimId":"C1"}`},
		{"a user of 256 characters", `{"v":1,"saleId":"moutai","user":"` + strings.Repeat("u", 256) + `","claimId":"C1"}`},
		{"no claim", `{"v":1,"saleId":"moutai","user":"alice"}`},
		{"a claim with a space", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C 1"}`},
		{"fewer buckets than none", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1","buckets":-1}`},
		{"more buckets than any sale has", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1","buckets":1000000}`},
		{"a second user", `{"v":1,"saleId":"moutai","user":"a","user":"b","claimId":"C1"}`},
		{"a name in capitals", `{"v":1,"saleId":"moutai","User":"alice","claimId":"C1"}`},
		{"a second message behind", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1"}{}`},
		{"invalid UTF-8 in an unknown field", "{\"v\":1,\"saleId\":\"moutai\",\"user\":\"alice\",\"claimId\":\"C1\",\"x\":\"\xff\"}"},
		{"a body over 4 KiB", `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1","x":"` + strings.Repeat("x", 4096) + `"}`},
	} {
		if m, err := Decode(tt.body); sale.CodeOf(err) != sale.Poison || m != (Message{}) {
			t.Errorf("%s: Decode = %+v, %v; want nothing and poison", tt.name, m, err)
		}
	}
}

func TestAMessageOfANewerVersionIsNoPoisonWhateverElseItHolds(t *testing.T) {
	for _, body := range []string{
		`{"v":2,"saleId":"moutai","user":"alice","claimId":"C1"}`,
		`{"v":2}`,
		`{"v":3,"saleId":{"id":"moutai"},"user":["alice"]}`,
		`{"user":["alice"],"v":2}`,
	} {
		if m, err := Decode(body); sale.CodeOf(err) != sale.NewerVersion || m != (Message{}) {
			t.Errorf("Decode(%s) = %+v, %v; want nothing and %s", body, m, err, sale.NewerVersion)
		}
	}
}

// What a newer sender adds to version 1 is ignored, up to a body of 4 KiB.
func TestABodyOfExactly4KiBIsRead(t *testing.T) {
	start := ` {"v":1,"saleId":"moutai","user":"alice","claimId":"C1","trace":["x"],"x":"`
	m, err := Decode(start + strings.Repeat("x", maxBody-len(start)-3) + "\"}\n")
	if want := (Message{SaleID: "moutai", User: "alice", ClaimID: "C1"}); m != want || err != nil {
		t.Errorf("Decode = %+v, %v; want %+v", m, err, want)
	}
}
