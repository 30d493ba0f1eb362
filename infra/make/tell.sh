#!/bin/bash
# tell.sh COMMAND …: runs a command and prints its progress to stderr after two seconds and
# then every three. The command's output is shown only if it fails. Under `sam build` progress
# goes to stdout: the SAM CLI shows that as it comes, and stderr only if the target fails.
#
# `go build -v` prints the path of each package that it compiles, but not of those in Go's
# cache, so the number of all packages is an upper bound.
set -euo pipefail

folder=$(mktemp -d "${TMPDIR:-/tmp}/flashsale.XXXXXX")
packages=()
what="$1 ${2-}"
for word in "$@"; do
	case $word in ./*) packages[${#packages[@]}]=$word ;; esac
done
if [ ${#packages[@]} -gt 0 ]; then
	what="building ${packages[*]}"
	what=${what//.\//}
	what=${what//\/.../}
fi

# report ends when the process that it reports on ends, even by a kill. Its programs do not
# get its stream (3): they may outlive it, and a reader of that would wait for them.
report() {
	local text last
	sleep 2 3>&-
	if [ ${#packages[@]} -gt 0 ]; then
		# This reads hundreds of files, so the first report does not wait for it.
		go list -deps "${packages[@]}" >"$folder/list" 3>&- && mv "$folder/list" "$folder/all" 3>&- &
	fi
	while kill -0 $$; do
		text="$what, $SECONDS s"
		if [ ${#packages[@]} -gt 0 ]; then
			text="$text: compiled $(grep -c '^[^ ]*$' "$folder/printed" || true)"
			if [ -e "$folder/all" ]; then text="$text of at most $(grep -c . "$folder/all")"; fi
			text="$text packages"
		fi
		last=$(tail -n 1 "$folder/printed")
		echo "$text${last:+; latest: $last}" >&3
		sleep 3 3>&-
	done
}

: >"$folder/printed"
to=2
if [ -n "${ARTIFACTS_DIR-}" ]; then to=1; fi
report 3>&$to >/dev/null 2>&1 &
reporter=$!
disown
trap 'kill $reporter 2>/dev/null; rm -rf "$folder"' EXIT
if ! "$@" >"$folder/printed" 2>&1; then
	if [ ${#packages[@]} -gt 0 ]; then grep -v '^[^ ]*$' "$folder/printed" >&2; else cat "$folder/printed" >&2; fi
	exit 1
fi
