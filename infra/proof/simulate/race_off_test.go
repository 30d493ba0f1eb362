//go:build !race

package simulate

const (
	seedsUnder     = 30 // each condition
	ordersInOutage = 300
)
