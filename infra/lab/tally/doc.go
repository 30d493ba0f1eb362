// Package tally says what a sale was worth: it holds the orders that the
// strategy's durable store has against what the buyers were told.
//
// A line in here knows orders and answers and nothing of how they came about.
// It is given no counter of any strategy.
package tally
