package explore

import "math/rand/v2"

// unitsEvery is how many seeds there are, on average, for one whose orders may have several units.
const unitsEvery = 4

// drawUnits lets the orders of a sale have up to four units. It draws from random numbers of its own, so that it
// changes nothing of the seeds without them. Most clicks of a buyer ask for the same; some for fewer, or for others
// with the key of the first.
func drawUnits(r *rand.Rand, d *saleDraft) {
	if d.draw != nil {
		return
	}
	d.maxPerOrder = 2 + r.IntN(3)
	d.commands[0].event = d.creation
	for _, b := range d.buyers {
		units := int64(1 + r.IntN(d.maxPerOrder))
		for i := range b.clicks {
			if b.clicks[i].units = units; sometimes(r, 0.2) {
				units = int64(1 + r.IntN(int(units)))
			}
		}
	}
}
