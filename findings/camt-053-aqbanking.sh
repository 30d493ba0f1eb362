#!/bin/bash
# A payment and a batch of two in a bank's statement (camt.053) and report (camt.052), as AqBanking imports them, which
# reads files of banks for GnuCash, KMyMoney and HomeBank.
#
# One would guess: both say the same, as the two messages differ in their names only: who paid, for what, and each payment.
# It is so:
# - Of the report the remittance text is read; of the statement (profile camt_053_001_04) it is not, nor who paid: the
#   profile looks for them beside the amount of the entry, where camt.053 has none.
# - A batch of two payments is one transaction with the sum and the end-to-end id of the first one, in both.
#
# Debian 12: aqbanking-tools 6.5.3-1, which is installed if this is root's shell and it is missing.
set -euo pipefail
if ! command -v aqbanking-cli >/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends aqbanking-tools='6.5.3-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
export HOME=$work
# payment ID AMOUNT, entry AMOUNT DETAILS
payment() { echo "<TxDtls><Refs><EndToEndId>$1</EndToEndId></Refs>AMT$2TMA<RltdPties><Dbtr><Nm>Alice</Nm></Dbtr></RltdPties><RmtInf><Ustrd>order $1</Ustrd></RmtInf></TxDtls>"; }
entry() { echo "<Ntry><Amt Ccy=\"EUR\">$1</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-11-12</Dt></BookgDt><ValDt><Dt>2026-11-12</Dt></ValDt><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd><NtryDtls>$2</NtryDtls></Ntry>"; }
# message NAMESPACE ROOT PART BIC
message() {
	cat <<XML
<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:$1"><$2><GrpHdr><MsgId>1</MsgId><CreDtTm>2026-11-12T00:00:00Z</CreDtTm></GrpHdr>
<$3><Id>1</Id><ElctrncSeqNb>1</ElctrncSeqNb><CreDtTm>2026-11-12T00:00:00Z</CreDtTm><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy><Svcr><FinInstnId><$4>COBADEFFXXX</$4></FinInstnId></Svcr></Acct>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">12.30</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-12</Dt></Dt></Bal>
$(entry 4.10 "$(payment 523415642750058497 4.10)")
$(entry 8.20 "<Btch><NbOfTxs>2</NbOfTxs></Btch>$(payment 523415642750058498 4.00)$(payment 523415642750058499 4.20)")
</$3></$2></Document>
XML
}
message camt.053.001.04 BkToCstmrStmt Stmt BICFI | sed 's|AMT\([0-9.]*\)TMA|<Amt Ccy="EUR">\1</Amt><CdtDbtInd>CRDT</CdtDbtInd>|g' >camt_053_001_04
message camt.052.001.02 BkToCstmrAcctRpt Rpt BIC | sed 's|AMT\([0-9.]*\)TMA|<AmtDtls><TxAmt><Amt Ccy="EUR">\1</Amt></TxAmt></AmtDtls>|g' >camt_052_001_02
dpkg-query -W aqbanking-tools
for profile in camt_053_001_04 camt_052_001_02; do
	aqbanking-cli -D "$work/settings" import -c "$profile.ctx" -f "$profile" --importer=xml --profile="$profile" >/dev/null 2>&1
	echo "$profile"
	sed -n '/transactionList/,$ s/^ *char *\(value\|purpose\|remoteName\|endToEndReference\)=/\1 /p' "$profile.ctx" | sed 's/%2F/\//; s/%3A/:/'
done | tee said
diff said - <<'EOF'
camt_053_001_04
value "410/100:EUR"
endToEndReference "523415642750058497"
value "820/100:EUR"
endToEndReference "523415642750058498"
camt_052_001_02
remoteName "Alice"
value "410/100:EUR"
purpose "order 523415642750058497"
endToEndReference "523415642750058497"
remoteName "Alice"
value "820/100:EUR"
purpose "order 523415642750058498"
endToEndReference "523415642750058498"
EOF
