//go:build !linux

package drill

import "testing"

// Without Linux's /proc and prlimit neither is the engine found nor can a disk be filled
// for one process.
var ofThisSystem, slowOfThisSystem []func(*testing.T, *drill)
