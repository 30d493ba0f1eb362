// Package ids compares ways to issue order ids: how fast, in which order, and
// how easily one that was issued tells of another.
//
// It contains no sale and no verdict.
package ids
