package simulate

import (
	"cmp"
	"maps"
	"slices"
)

// sorted are the keys of a map in their order: the order in which a map is
// walked is the one thing that no seed brings back.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
