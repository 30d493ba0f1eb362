#!/bin/bash
# How long does aws-sdk-go-v2's standard retryer pause, and what does it do with an attribute of a new type?
#
# One would guess: a retryer with MaxAttempts 3 and MaxBackoff 2s pauses as it did before; and an attribute of DynamoDB of a type
# that the client is too old for stays recognisable, as types.UnknownUnionMember says of itself.
# It is so:
# - From v1.48.0 on ("Retry Behavior 2.1") the pauses are at most 50 and 100 ms, where v1.47.6 paused for up to 2 s and then for
#   2 s: the default of the new option BaseDelay. MaxBackoff bounds them and no longer sets them.
# - With service/dynamodb v1.74.0 (which deserializes by schema, as v1.68.0 does not) the attribute is in the item, and its value
#   is a nil interface. v1.68.0 gave UnknownUnionMember. Whoever asks `item["x"] == nil` takes it for missing.
#
# Needs Go 1.24 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0 AWS_EC2_METADATA_DISABLED=true

mkdir pause attribute
cat >pause/main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

func main() {
	r := retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts, o.MaxBackoff = 3, 2*time.Second })
	for try := 1; try < 3; try++ {
		var longest time.Duration
		for range 2000 {
			d, _ := r.RetryDelay(try, io.ErrUnexpectedEOF)
			longest = max(longest, d)
		}
		fmt.Printf("after try %d: up to about %v\n", try, longest.Round(50*time.Millisecond))
	}
}
EOF
cat >attribute/main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func main() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"Item":{"x":{"NEW":"1"}}}`)
	}))
	defer s.Close()
	c := dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	table := "T"
	out, err := c.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &table, Key: map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: "k"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, there := out.Item["x"]
	fmt.Printf("there: %v, value: %T\n", there, value)
}
EOF
try() { # PROGRAM MODULE@VERSION...
	rm -f "$1/go.mod" "$1/go.sum"
	(cd "$1" && go mod init try && go get "${@:2}" && go mod tidy) >log 2>&1 || { cat log >&2; exit 1; }
	echo "$2"
	go run -C "$1" .
}
sdk=github.com/aws/aws-sdk-go-v2
{
	try pause $sdk@v1.47.6
	try pause $sdk@v1.48.0
	try attribute $sdk/service/dynamodb@v1.68.0
	try attribute $sdk/service/dynamodb@v1.74.0
} | tee /dev/stderr | diff - <(cat <<EOF
$sdk@v1.47.6
after try 1: up to about 2s
after try 2: up to about 2s
$sdk@v1.48.0
after try 1: up to about 50ms
after try 2: up to about 100ms
$sdk/service/dynamodb@v1.68.0
there: true, value: *types.UnknownUnionMember
$sdk/service/dynamodb@v1.74.0
there: true, value: <nil>
EOF
)
