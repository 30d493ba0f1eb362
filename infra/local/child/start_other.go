//go:build !linux

package child

import "os/exec"

// start has no death signal to ask for on this system.
func start(cmd *exec.Cmd) error { return cmd.Start() }
