// Package scenario holds the crowds and the accidents that every strategy
// meets: how many come for how much, how slow the user service is, and what is
// killed or added when.
//
// It contains no strategy and no engine. All chance comes from the seed, so a
// scenario can be repeated.
package scenario
