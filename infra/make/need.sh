#!/bin/bash
# need.sh go, need.sh node: if the program is missing or too old, fails with one line that
# says what to install.
set -euo pipefail

fail() {
	echo "make: $*" >&2
	exit 1
}

case $1 in
go)
	wanted=$(sed -n 's/^go 1\.\([0-9]*\).*/\1/p' go.mod)
	install="install Go 1.$wanted or newer: https://go.dev/dl/"
	command -v go >/dev/null || fail "Go is missing; $install"
	# From 1.21 on, Go downloads the version in go.mod unless that is disabled.
	version=$(go version 2>&1) || fail "Go cannot start ($version); $install"
	minor=$(sed -n 's/.*go1\.\([0-9]*\).*/\1/p' <<<"$version")
	[ "${minor:-0}" -ge "$wanted" ] || fail "found ${version#go version }; $install"
	;;
node)
	install="install Node 20 or newer, which brings npm: https://nodejs.org/en/download"
	for program in node npm; do
		command -v "$program" >/dev/null || fail "$program is missing; $install"
	done
	version=$(node --version 2>&1) || fail "Node cannot start ($version); $install"
	major=$(sed -n 's/^v\([0-9]*\).*/\1/p' <<<"$version")
	[ "${major:-0}" -ge 20 ] || fail "found Node $version; $install"
	;;
*) fail "need.sh knows go and node, not $1" ;;
esac
