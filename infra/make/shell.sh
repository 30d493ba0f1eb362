# The options of every recipe's shell, which reads this file first (BASH_ENV): it stops at a
# failed command, an unset variable and a failure inside a pipe. GNU make 3.81, the version on
# macOS, has no .SHELLFLAGS. The programs that a recipe starts do not read it.
unset BASH_ENV
set -euo pipefail
