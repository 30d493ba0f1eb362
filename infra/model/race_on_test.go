//go:build race

package model

// raced shortens the runs: the race detector makes them ten times slower.
const raced = true
