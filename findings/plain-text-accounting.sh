#!/bin/bash
# Orders as a CSV file in a journal of hledger, ledger or beancount.
#
# One would guess: `hledger import` puts into the journal what hledger reads in the CSV file, and 1,500 is the same amount for
# three programs of plain text accounting.
# It is so:
# - A description is written as it is: of "Jacket; blue" is "Jacket" left, with a comment; "! Jacket" is pending, "* Jacket"
#   cleared, and of "(4711) Jacket" 4711 becomes the code. Read from the CSV file, all four are whole.
# - 1,500 JPY is 1.5 for hledger, 1500 for ledger and beancount; with 2500 JPY beside it hledger says 2501,500, ledger 4,000.
#   With the line `decimal-mark .` in the journal it is 1500, too.
#
# Debian 12: hledger 1.25, ledger 3.3.0 and beancount 2.3.5, which are installed if this is root's shell and they are missing.
set -euo pipefail
if ! command -v hledger >/dev/null || ! command -v ledger >/dev/null || ! command -v bean-query >/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends hledger='1.25-*' ledger='3.3.0-*' beancount='2.3.5-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
dpkg-query -W hledger ledger beancount
printf '2026-11-11,%s,1,EUR\n' 'Jacket; blue' '! Jacket' '* Jacket' '(4711) Jacket' >orders.csv
printf '%s\n' 'fields date,description,sum,of' 'amount %sum %of' 'account1 assets' 'account2 income' >rules
# told FILE: status, code, description and comment of each.
told() { hledger -f "$1" --rules-file rules print -O csv | awk -F, 'NR > 1 && /"assets"/ { print $4, $5, $6, $7 }'; }
{
	echo "from CSV:"
	told orders.csv
	: >again.journal
	hledger -f again.journal import orders.csv --rules-file rules >/dev/null 2>&1
	echo "imported:"
	told again.journal
	printf '2026-11-11 a\n  assets  1,500 JPY\n  income\n2026-11-11 b\n  assets  2500 JPY\n  income\n' >two.journal
	echo "hledger: $(hledger -f two.journal bal assets -N | xargs)"
	echo "hledger, decimal-mark: $({ echo 'decimal-mark .' && cat two.journal; } | hledger -f - bal assets -N | xargs)"
	echo "ledger: $(ledger -f two.journal bal assets | xargs)"
	printf '2026-11-11 open Assets:Bank\n2026-11-11 open Income:Sales\n2026-11-11 * "a"\n  Assets:Bank  1,500 JPY\n  Income:Sales\n2026-11-11 * "b"\n  Assets:Bank  2500 JPY\n  Income:Sales\n' >two.beancount
	echo "beancount: $(bean-query two.beancount "select sum(position) where account ~ 'Assets'" | tail -1 | xargs)"
} | tee said
diff said - <<'EOF'
from CSV:
"" "" "Jacket; blue" ""
"" "" "! Jacket" ""
"" "" "* Jacket" ""
"" "" "(4711) Jacket" ""
imported:
"" "" "Jacket" "blue"
"!" "" "Jacket" ""
"*" "" "Jacket" ""
"" "4711" "Jacket" ""
hledger: 2501,500 JPY assets
hledger, decimal-mark: 4,000 JPY assets
ledger: 4,000 JPY assets
beancount: 4000 JPY
EOF
