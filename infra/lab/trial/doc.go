// Package trial runs one strategy through one scenario: it lays out the sale,
// starts the application servers, lets the crowd click, makes the accidents
// happen, and has the result counted from the strategy's durable store.
//
// It treats every strategy alike.
package trial
