//go:build !race

package simulate

const (
	defaultSeeds  = 2000
	defaultFaults = 3
)
