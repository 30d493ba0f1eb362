//go:build !linux

package system

import "testing"

// Without Linux's /proc no process of the stack is found.
var ofThisSystem, slowOfThisSystem []func(*testing.T, *drill)
