package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/books"
)

func newTable(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Region:       "us-east-1",
		// A local engine asks for credentials but does not check them.
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// readBooks reads a sale's items, which must not change any more, and recounts them.
func readBooks(ctx context.Context, db books.Scanner, table, saleID string, now func() time.Time) (*books.Sale, *books.Receipt, error) {
	all, err := books.Read(ctx, db, table)
	if err != nil {
		return nil, nil, err
	}
	receipt, err := all.Recount(ctx, saleID, books.Options{Now: now, Overdue: books.AtOnce})
	if err != nil {
		return nil, nil, err
	}
	return all.Sale(saleID), receipt, nil
}
