// Package shop is what a strategy of the lab knows of its world: the sale, the
// places it may store things, the user service it must ask, and the points of a
// purchase at which real life may interrupt it.
//
// It contains no engine, no scenario and no verdict, and it counts nothing: what
// was sold is read from the strategy's own store afterwards.
package shop
