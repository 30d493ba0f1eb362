//go:build !race

package explore

const (
	seedsUnder     = 30 // each condition
	ordersInOutage = 300
)
