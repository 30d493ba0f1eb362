//go:build race

package enumerate

// Under the race detector every step takes longer, and what is looked for is races: few
// plans have them all. The full number runs without it.
const defaultFaults = 1
