#!/bin/bash
# need.sh go, need.sh node: ends with one line that says what to install, if that is
# missing or too old.
set -euo pipefail

fail() {
	echo "make: $*" >&2
	exit 1
}

case $1 in
go)
	wanted=$(sed -n 's/^go 1\.\([0-9]*\).*/\1/p' go.mod)
	install="install Go 1.$wanted or newer: https://go.dev/dl/"
	command -v go >/dev/null || fail "there is no Go here; $install"
	# From 1.21 on, Go fetches the version that go.mod asks for, if it may.
	version=$(go version 2>&1) || fail "Go cannot start ($version); $install"
	minor=$(sed -n 's/.*go1\.\([0-9]*\).*/\1/p' <<<"$version")
	[ "${minor:-0}" -ge "$wanted" ] || fail "this is ${version#go version }; $install"
	;;
node)
	install="install Node 20 or newer, which brings npm: https://nodejs.org/en/download"
	for program in node npm; do
		command -v "$program" >/dev/null || fail "there is no $program here; $install"
	done
	version=$(node --version 2>&1) || fail "Node cannot start ($version); $install"
	major=$(sed -n 's/^v\([0-9]*\).*/\1/p' <<<"$version")
	[ "${major:-0}" -ge 20 ] || fail "this is Node $version; $install"
	;;
*) fail "need.sh knows go and node, not $1" ;;
esac
