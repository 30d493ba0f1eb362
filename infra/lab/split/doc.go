// Package split holds the strategies that spread the stock, or what is known of
// it, over the application servers, so that most buyers never reach a shared
// store: one file each.
//
// A line in here knows one application server's memory and what it shares with
// the others. It is written as people write it, with the flaw that it is known
// for; the flaw is named in its Spec.
package split

import "flashsale/infra/lab/shop"

const family = "split"

// Specs are all strategies of the package.
func Specs() []shop.Spec { return []shop.Spec{shares(), flagged(), twoCounters()} }
