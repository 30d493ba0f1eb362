//go:build !race

package enumerate

const defaultFaults = 2
