// Package drawcheck checks a draw from what is public: that nobody was added to the roll, left
// out or moved, that the dice decided the order, and that the calls followed it. It is for
// whoever does not trust the operator.
//
// It shares no code with the system that it judges, not even the arithmetic of the dice's
// signature; the rules of the order are those by which the recount judges, too.
package drawcheck

import (
	"slices"

	"flashsale/infra/kit/drawcheck/rules"
)

// Pages is the number of a roll's pages.
const Pages = rules.Pages

type (
	Nonce  = rules.Nonce
	Leaf   = rules.Leaf
	Digest = rules.Digest
	Rank   = rules.Rank
)

// ordered returns the ranks of a roll in the order in which they are called.
func ordered(seed Digest, pages *[Pages][]Leaf) []Rank {
	var all []Rank
	for _, leaves := range pages {
		for _, l := range leaves {
			all = append(all, rules.RankOf(seed, l))
		}
	}
	slices.SortFunc(all, Rank.Compare)
	return all
}

// upTo returns how many of the ranks, which are in order, are not above r.
func upTo(ranks []Rank, r Rank) int64 {
	i, found := slices.BinarySearchFunc(ranks, r, Rank.Compare)
	if found {
		i++
	}
	return int64(i)
}
