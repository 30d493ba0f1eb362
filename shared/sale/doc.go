// Package sale holds the rules of a flash sale: what a sale, a claim and an
// order are, when a purchase is admitted, how stock is spread over shards and
// what may be an id.
//
// It imports the standard library only, takes the current instant as an argument, fails
// with one of the codes of errors.go, and contains no DynamoDB, SQS, HTTP or Lambda.
package sale
