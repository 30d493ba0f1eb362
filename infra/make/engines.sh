#!/bin/bash
# engines.sh: Redis, MariaDB and PostgreSQL for the lab. On Debian they are installed, where that is permitted;
# elsewhere the script fails with one line that says what to install.
set -euo pipefail
if command -v redis-server >/dev/null && { [ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null; } &&
	{ compgen -G '/usr/lib/postgresql/*/bin/postgres' || command -v postgres; } >/dev/null; then exit; fi
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "make: install redis-server, mariadb-server and postgresql with this system's packages" >&2
	exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server mariadb-server postgresql >/dev/null
