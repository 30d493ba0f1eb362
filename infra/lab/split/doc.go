// Package split holds the strategies that spread the stock, or what is known of
// it, over the application servers, so that most buyers never reach a shared
// store: one file each.
//
// The code uses one application server's memory and what it shares with the
// others, as people write it, with the known flaw, which its Spec names.
package split

import "flashsale/infra/lab/shop"

const family = "split"

// Specs are all strategies of the package.
func Specs() []shop.Spec { return []shop.Spec{shares(), flagged(), twoCounters()} }
