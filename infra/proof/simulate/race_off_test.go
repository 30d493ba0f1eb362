//go:build !race

package simulate

const (
	defaultSeeds = 300
	seedsUnder   = 30 // each condition

	ordersInOutage = 300
)
