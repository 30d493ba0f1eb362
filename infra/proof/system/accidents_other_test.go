//go:build !linux

package system

import "testing"

// Without Linux's /proc the engine is not found.
var ofThisSystem []func(*testing.T, *drill)
