//go:build race

package explore

// Under the race detector every step takes longer, and what is looked for is
// races: few runs do. The full numbers run without it.
const (
	seedsUnder     = 3
	ordersInOutage = 50
)
