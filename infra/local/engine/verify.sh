#!/bin/bash
# verify.sh FOLDER: are the engine for this machine, and SQLite, installed there as they were published?
# npm passes over a package that it cannot get, because each is for some machines only.
# It has compared what it installed with the lock file's integrity, where there is one.
set -euo pipefail
cd "$1"
name=@dynoxide/$(node -p 'process.platform + "-" + process.arch')
if [ ! -x "node_modules/$name/dynoxide" ]; then
	version=$(node -p 'require("./package.json").optionalDependencies[process.argv[1]] || ""' "$name")
	if [ -n "$version" ]; then
		echo "make: npm could not install $name $version: is there a network, and does the registry have it?" >&2
	else
		echo "make: there is no $name: start another DynamoDB engine and name it with AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:PORT" >&2
	fi
	exit 1
fi
if ! node -e 'require(process.cwd() + "/node_modules/libsql")' 2>load.log; then
	echo "make: npm could not install libsql for this machine: $(grep -m 1 Error load.log)" >&2
	exit 1
fi
if [ -z "$(node -p 'require("./package-lock.json").packages[process.argv[1]].integrity || ""' "node_modules/$name")" ]; then
	npm audit signatures --loglevel=error >audit.log 2>&1 || {
		cat audit.log >&2
		echo "make: the registry's signature of $name could not be verified, so it was removed" >&2
		rm -rf node_modules
		exit 1
	}
fi
