#!/bin/bash
# watch.sh COMMAND …: runs a command, shows its output as it comes, and when there was none
# for four seconds prints how far `go test` is: it compiles for minutes without a word.
set -euo pipefail

folder=$(mktemp -d "${TMPDIR:-/tmp}/flashsale.XXXXXX")
: >"$folder/shown"

# report ends when the process that it reports on ends, even by a kill. sleep, which may
# outlive it, does not get its stderr (3): a reader of that would wait for it.
report() {
	local before=0 now
	while sleep 4 3>&- && kill -0 $$; do
		now=$(wc -c <"$folder/shown")
		if [ "$now" = "$before" ]; then
			echo "$1 ${2-}, $SECONDS s: $(grep -c '^ok\|^FAIL	\|no test files' "$folder/shown" || true) packages done" >&3
		fi
		before=$now
	done
}

report "$@" 3>&2 >/dev/null 2>&1 &
reporter=$!
disown
trap 'kill $reporter 2>/dev/null; rm -rf "$folder"' EXIT
"$@" 2>&1 | tee "$folder/shown"
