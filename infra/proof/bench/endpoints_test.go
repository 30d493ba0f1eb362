package bench

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// answer is an operation's constant answer.
type answer struct {
	status int
	body   []byte
	// checksum is DynamoDB's X-Amz-Crc32 of the body, which the client checks.
	checksum string
}

func answerOf(status int, body string) answer {
	return answer{status, []byte(body), strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10)}
}

// endpoints answer DynamoDB's and SQS's operations by name, as cheaply as possible,
// because their cost is on both sides of every comparison. They are used in process as
// a client's transport, and over a socket as a handler.
type endpoints map[string]answer

// RoundTrip implements http.RoundTripper.
func (e endpoints) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	if err := r.Body.Close(); err != nil {
		return nil, fmt.Errorf("close request: %w", err)
	}
	a := e.answer(r.Header.Get("X-Amz-Target"), body)
	return &http.Response{
		StatusCode: a.status, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"X-Amz-Crc32":      {a.checksum},
			"X-Amzn-Requestid": {requestID},
		},
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}, nil
}

// ServeHTTP implements http.Handler.
func (e endpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has gone
	}
	a := e.answer(r.Header.Get("X-Amz-Target"), body)
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("X-Amz-Crc32", a.checksum)
	h.Set("X-Amzn-Requestid", requestID)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // fails only if the caller has gone
}

// getSale names the GetItem of a sale, as opposed to other items.
const getSale = "GetItem SALE"

const queueURL = "https://sqs.eu-central-1.amazonaws.com/123456789012/OrderQueue"

const requestID = "V8LTRMHDC3FSBN1PQ6ZKD0J5YWXV8LTRMHDC3FSBN1PQ6ZKD0J5Y"

// answer finds the answer by the target, like "DynamoDB_20120810.GetItem".
func (e endpoints) answer(target string, request []byte) answer {
	_, operation, _ := strings.Cut(target, ".")
	switch {
	case operation == "SendMessage":
		return sent(request)
	case operation == "GetItem" && bytes.Contains(request, []byte(`"SALE#`)):
		operation = getSale
	}
	if a, ok := e[operation]; ok {
		return a
	}
	return answerOf(http.StatusBadRequest, `{"__type":"com.amazonaws#ValidationException","message":"no answer for `+operation+`"}`)
}

// sent acknowledges a message with the digest of its body, which the client
// compares.
func sent(request []byte) answer {
	var in struct{ MessageBody string }
	if err := json.Unmarshal(request, &in); err != nil {
		return answerOf(http.StatusBadRequest, `{"__type":"com.amazonaws#SerializationException"}`)
	}
	digest := md5.Sum([]byte(in.MessageBody))
	return answerOf(http.StatusOK, `{"MessageId":"380f4dc3-3844-4c8a-8806-2b1fbd872a04","MD5OfMessageBody":"`+hex.EncodeToString(digest[:])+`"}`)
}
