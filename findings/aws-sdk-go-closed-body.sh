#!/bin/bash
# Why does a call of aws-sdk-go-v2 now and then fail with "use of closed network connection", though client and server are well?
#
# One would guess: a request's body that the SDK has closed reads as ended, so that whoever still copies it finishes without an error.
# It is so: Read answers io.EOF, which ends a copy well. But the body also has WriteTo, which io.Copy prefers, and that
# answers io.EOF too, where a WriterTo says nil at its end: io.Copy hands it on as an error. net/http asks a body with a length
# once more whether it is longer. If the answer's head is there by then and the SDK has closed the body, the copy fails, and net/http
# closes the connection, from which the answer is still being read. It hits large answers that come at once, as of a DynamoDB on the same machine:
# some calls in a thousand with 1 MB each, none with net/http alone. The SDK's own tries hide it, unless there is only one.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0 AWS_EC2_METADATA_DISABLED=true

cat >main.go <<'EOF2'
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// keeping notes the body of the request that it sends.
type keeping struct {
	http.RoundTripper
	body io.Reader
}

func (k *keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	k.body = r.Body
	return k.RoundTripper.RoundTrip(r)
}

func main() {
	answer := []byte(`{"Item":{"x":{"S":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write(answer)
	}))
	defer s.Close()
	table := "T"
	options := dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1,
	}
	get := func(c *dynamodb.Client) error {
		_, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &table, Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "k"}}})
		return err
	}

	kept := &keeping{RoundTripper: http.DefaultTransport}
	noting := options
	noting.HTTPClient = &http.Client{Transport: kept}
	if err := get(dynamodb.New(noting)); err != nil {
		fmt.Println(err)
		return
	}
	_, read := kept.body.Read(make([]byte, 1))
	_, copied := io.Copy(io.Discard, kept.body)
	fmt.Printf("a closed body: Read says %v, io.Copy says %v\n", read, copied)

	// Until one fails, or 20,000 have not.
	count := func(name string, call func() error) {
		var calls, failed atomic.Int64
		var last atomic.Value
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for failed.Load() == 0 && calls.Add(1) <= 20_000 {
					if err := call(); err != nil {
						failed.Add(1)
						last.Store(err.Error())
					}
				}
			})
		}
		all.Wait()
		fmt.Fprintf(os.Stderr, "%s: %d calls, last error: %v\n", name, calls.Load(), last.Load())
		said, _ := last.Load().(string)
		fmt.Printf("%s: a closed connection: %v\n", name, strings.Contains(said, "use of closed network connection"))
	}
	c := dynamodb.New(options)
	count("aws-sdk-go-v2", func() error { return get(c) })
	count("net/http", func() error {
		answer, err := http.Post(s.URL, "application/json", bytes.NewReader(make([]byte, 100)))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	})
}
EOF2
{
	go mod init try
	go get github.com/aws/smithy-go@v1.28.9 github.com/aws/aws-sdk-go-v2/service/dynamodb@v1.74.0 github.com/aws/aws-sdk-go-v2/credentials@v1.21.0
	go mod tidy
} >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/aws/smithy-go; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/aws/smithy-go v1.28.9
a closed body: Read says EOF, io.Copy says EOF
aws-sdk-go-v2: a closed connection: true
net/http: a closed connection: false
EOF2
)
