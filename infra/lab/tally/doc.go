// Package tally says what a sale was worth: it holds the orders that the
// strategy's durable store has against what the buyers were told.
//
// It compares orders with answers only, and uses no counter of any strategy.
package tally
