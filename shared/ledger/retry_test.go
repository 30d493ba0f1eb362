package ledger

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// answering is a ledger over a table that answers each call, counted from 1, with a status and
// either an error code or, if that is "", an empty body.
func answering(t *testing.T, answer func(call int, w http.ResponseWriter, r *http.Request) (status int, code string)) *Ledger {
	t.Helper()
	calls := 0
	table := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		status, code := answer(calls, w, r)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		if status != http.StatusOK && code != "" {
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`"}`)
		} else {
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(table.Close)
	return New(dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", BaseEndpoint: &table.URL, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, OneAttempt), "Ledger", Options{Random: func() float64 { return 0 }})
}

// outcomeOf judges one call that is answered so.
func outcomeOf(t *testing.T, status int, code string) table.Outcome {
	t.Helper()
	l := answering(t, func(int, http.ResponseWriter, *http.Request) (int, string) { return status, code })
	_, err := l.table.API.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: l.table.Name, Key: table.SaleKey("moutai")})
	return table.Judge(err)
}

func TestWhatTheSDKRetriesIsNeverHopeless(t *testing.T) {
	for code := range retry.DefaultThrottleErrorCodes {
		want := table.Contended
		if code == "TransactionInProgressException" {
			want = table.Unknown // the other call of the token may still be applied
		}
		if got := outcomeOf(t, 400, code); got != want {
			t.Errorf("%s: outcome %d, want %d", code, got, want)
		}
	}
	for code := range retry.DefaultRetryableErrorCodes {
		if got := outcomeOf(t, 400, code); got != table.Unknown {
			t.Errorf("%s: outcome %d, want %d", code, got, table.Unknown)
		}
	}
	for status := range retry.DefaultRetryableHTTPStatusCodes {
		if got := outcomeOf(t, status, "SomethingNew"); got != table.Unknown {
			t.Errorf("status %d: outcome %d, want %d", status, got, table.Unknown)
		}
	}
}

func TestAnAnswerNobodyKnowsIsJudgedByItsStatus(t *testing.T) {
	for status, want := range map[int]table.Outcome{400: table.Hopeless, 429: table.Contended, 499: table.Hopeless, 500: table.Unknown, 503: table.Unknown} {
		for _, code := range []string{"SomethingNew", ""} {
			if got := outcomeOf(t, status, code); got != want {
				t.Errorf("status %d, code %q: outcome %d, want %d", status, code, got, want)
			}
		}
	}
}

func TestAClockThatIsMinutesOffCostsOneTry(t *testing.T) {
	for name, tt := range map[string]struct {
		ahead  time.Duration // AWS's clock
		always bool          // the signature is refused whatever its time
		code   string
		calls  int
		want   sale.Code
	}{
		"behind":                        {20 * time.Minute, false, "InvalidSignatureException", 2, ""},
		"ahead":                         {-20 * time.Minute, false, "InvalidSignatureException", 2, ""},
		"a wrong key is not retried":    {0, true, "InvalidSignatureException", 1, sale.Internal},
		"a wrong key and a wrong clock": {20 * time.Minute, true, "InvalidSignatureException", 2, sale.Internal},
		"another refusal":               {20 * time.Minute, true, "ValidationException", 1, sale.Internal},
	} {
		made := 0
		l := answering(t, func(call int, w http.ResponseWriter, r *http.Request) (int, string) {
			now := time.Now().Add(tt.ahead).UTC()
			w.Header().Set("Date", now.Format(http.TimeFormat))
			made = call
			if signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date")); err != nil || tt.always || now.Sub(signed).Abs() > 5*time.Minute {
				return http.StatusBadRequest, tt.code
			}
			return http.StatusOK, ""
		})
		_, err := l.table.Get(t.Context(), table.SaleKey("moutai"))
		if (err == nil) != (tt.want == "") || err != nil && sale.CodeOf(err) != tt.want || made != tt.calls {
			t.Errorf("%s: %v after %d calls, want %q after %d", name, err, made, tt.want, tt.calls)
		}
	}
}

// The SDK has read such an attribute as nil and as UnknownUnionMember. A claim whose paidAt a later
// release stores otherwise would be released as unpaid.
func TestAnAttributeOfATypeThatTheSDKDoesNotKnowIsNeverReadAsMissing(t *testing.T) {
	released := table.ClaimItem(sale.Claim{SaleID: "moutai", User: "alice", ID: "c", RequestKey: "k", Labels: "a=b", MinReader: 2}, 0)
	released["releasedAt"], released["releasedBy"], released["resentAt"] = table.Millis(readAt), table.S("buyer"), table.Millis(readAt)
	released["orderId"] = table.N(7)
	paid := table.With(table.ClaimKey("moutai", 0, "bob"), table.Item{
		"claimId": table.S("c"), "shard": table.Zero, "acceptedAt": table.Millis(readAt), "paidAt": table.Millis(readAt), "payment": table.S("stripe#pi_1"),
		"amount": table.N(1), "currency": table.S("CNY"), "refunds": &types.AttributeValueMemberSS{Value: []string{"stripe#pi_2"}},
	})
	unread := map[string]bool{"sk": true, "pk": true} // the keys of an item that was asked for by its key
	for name, it := range map[string]table.Item{"released": released, "paid": paid} {
		if _, err := table.ReadClaim("moutai", 1, it); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for attribute, value := range it {
			for _, other := range []types.AttributeValue{nil, &types.UnknownUnionMember{Tag: "X"}} {
				it[attribute] = other
				if _, err := table.ReadClaim("moutai", 1, it); err == nil && !unread[attribute] {
					t.Errorf("%s: %s is read from %T", name, attribute, other)
				}
			}
			it[attribute] = value
		}
	}
}
