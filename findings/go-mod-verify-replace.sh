#!/bin/bash
# A workspace's module that is replaced by a folder, and `go mod verify`.
# One would guess: a module that was never downloaded has nothing to verify, whatever its name.
# It is so: only if the first element of its path has a dot. Without one, as in `module shop`, which builds
# and tests like any other, the command fails with "missing ziphash", and so does a workflow that has it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
export GOTOOLCHAIN=go1.26.8 GOFLAGS= GOWORK=off
go version
seen=
for path in example.com/shop shop; do
	mkdir -p shop tool
	printf 'module %s\n\ngo 1.26\n' "$path" >shop/go.mod
	echo 'package shop' >shop/shop.go
	printf 'module example.com/tool\n\ngo 1.26\n\nrequire %s v0.0.0\n\nreplace %s => ../shop\n' "$path" "$path" >tool/go.mod
	printf 'package tool\n\nimport _ "%s"\n' "$path" >tool/tool.go
	go build -C tool ./...
	said=$(go mod -C tool verify 2>&1) || true
	seen+="$path: $said"$'\n'
done
echo "$seen"
[ "$seen" = $'example.com/shop: all modules verified\nshop: shop v0.0.0: missing ziphash: open hash: no such file or directory\n' ]
