#!/bin/bash
# The shell of every recipe for GNU make 3.81, the version on macOS, which has no .SHELLFLAGS: it
# stops at a failed command, an unset variable and a failure inside a pipe.
exec /bin/bash -euo pipefail "$@"
