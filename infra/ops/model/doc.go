// Package model is a model of the AWS services under one sale: how often DynamoDB's
// transactions conflict and where it throttles, how long its calls take, how Lambda
// scales and what all of this costs.
//
// It runs the real purchase and finalize handlers under AWS's published limits
// and prices, and contains no key format and no rule of the ledger. It runs in
// the virtual time of testing/synctest: Run must be called inside a bubble, see
// Virtually.
//
// It leaves out lost answers and stuck transactions (other packages cover those) and
// the splitting of hot partitions, which takes DynamoDB minutes.
package model
