package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/books"
)

const tableName = "LedgerTable"

// allConfirmed reports whether every claim is confirmed and every order stored; if not, it
// returns when the oldest of the other claims was accepted.
func allConfirmed(s *books.Sale) (oldest time.Time, ok bool) {
	ok = true
	for _, c := range s.Unfinished() {
		if ok || c.AcceptedAt.Before(oldest) {
			oldest, ok = c.AcceptedAt, false
		}
	}
	return oldest, ok
}

// newTable makes a client that uses only the engine at the URL.
func newTable(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}
