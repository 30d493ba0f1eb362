#!/bin/bash
# The shell of every recipe: a command that fails, a variable that is not set and a
# failure inside of a pipe end it. GNU make 3.81, which is macOS's, has no .SHELLFLAGS.
exec /bin/bash -euo pipefail "$@"
