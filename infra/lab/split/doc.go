// Package split holds the strategy that spreads the stock over the application
// servers, so that no buyer reaches a shared store.
package split

import "flashsale/infra/lab/shop"

// Specs are all strategies of the package.
func Specs() []shop.Spec { return []shop.Spec{shares()} }
