// Package ids compares ways to issue order ids: how fast, in which order, and
// how easily one that was issued tells of another.
//
// A line in here knows how each generator makes an id and what can be read from
// a pile of them. It knows no sale and no verdict.
package ids
