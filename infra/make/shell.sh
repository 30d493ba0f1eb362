#!/bin/bash
# The shell of every recipe: it stops at a failed command, an unset variable and a failure
# inside a pipe. GNU make 3.81, the version on macOS, has no .SHELLFLAGS.
exec /bin/bash -euo pipefail "$@"
