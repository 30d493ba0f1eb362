//go:build !race

package simulate

const (
	defaultSeeds = 300
	seedsUnder   = 20 // each condition

	ordersInOutage = 300
)
