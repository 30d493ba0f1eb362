#!/bin/bash
# browser.sh: prints the path of a Chromium or Chrome for the browser tests. CHROME_PATH
# names one; otherwise it is looked for. If there is none, it is installed from Debian's
# packages where that is permitted; elsewhere the script fails with one line that says what
# to install.
set -euo pipefail

# Debian's headless shell comes first: it is the smallest, and starts the fastest.
found() {
	local program
	for program in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable \
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" /Applications/Chromium.app/Contents/MacOS/Chromium; do
		if command -v "$program"; then return; fi
	done
	return 1
}

if [ -n "${CHROME_PATH-}" ]; then
	command -v "$CHROME_PATH" && exit
	echo "make: CHROME_PATH names no program: $CHROME_PATH" >&2
	exit 1
fi
found && exit
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-wqy-zenhei; } >&2 || true
	found && exit
fi
echo "make: the browser tests need Chromium; install it (Debian: apt-get install chromium-headless-shell; macOS: brew install --cask google-chrome) or name one with CHROME_PATH=/path" >&2
exit 1
