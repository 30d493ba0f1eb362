package table

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client returns the client of a function.
func Client(cfg aws.Config) *dynamodb.Client { return dynamodb.NewFromConfig(cfg, OneAttempt) }

// OneAttempt makes the client try each call once: package table does the retries, because
// the SDK neither retries a cancelled transaction nor respects a request's time budget
// (its back-off takes seconds).
func OneAttempt(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
