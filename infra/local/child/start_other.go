//go:build !linux

package child

import "os/exec"

// start: this system has no death signal.
func start(cmd *exec.Cmd) error { return cmd.Start() }
