#!/bin/bash
# What iso20022.js makes of the amounts, reversals and references of ISO 20022, and what it writes.
#
# One would guess: a bank's 8.20 EUR is 820 of the minor unit, 1500 JPY is 1500; a reversal is told; each payment has its
# end-to-end id. It is so:
# - Every currency has two digits: JPY 1500 is read as 150000 and KWD 1.205 as 120.5; 149900 of JPY is written as 1499.
# - An amount is a float times 100: EUR 8.20 is 819.9999999999999.
# - <RvslInd>true</RvslInd> is reversal: false: its XML parser makes a boolean of it, which is compared with a text.
# - camt.053: an end-to-end id, and the amounts of the two payments of a batch, are not read at all; the remittance text
#   0042 is the number 42.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error iso20022.js@0.0.15 >/dev/null
npm ls --depth 0 | grep @
cat >all.mjs <<'JS'
import { CashManagementEndOfDayReport, ISO20022 } from "iso20022.js";

const entry = (amount, currency, more, details) => `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>${more}<Sts>BOOK</Sts>
<BookgDt><Dt>2026-11-12</Dt></BookgDt><BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd><NtryDtls>${details}</NtryDtls></Ntry>`;
const payment = (id, text, amount, currency) => `<TxDtls><Refs><EndToEndId>${id}</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="${currency}">${amount}</Amt></TxAmt></AmtDtls><RmtInf><Ustrd>${text}</Ustrd></RmtInf></TxDtls>`;
const report = CashManagementEndOfDayReport.fromXML(`<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><GrpHdr><MsgId>1</MsgId><CreDtTm>2026-11-12T00:00:00Z</CreDtTm></GrpHdr>
<Stmt><Id>1</Id><ElctrncSeqNb>1</ElctrncSeqNb><CreDtTm>2026-11-12T00:00:00Z</CreDtTm>
<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id><Svcr><FinInstnId><BIC>COBADEFFXXX</BIC></FinInstnId></Svcr></Acct>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">8.20</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-12</Dt></Dt></Bal>
${entry("1500", "JPY", "<RvslInd>true</RvslInd>", payment("1", "x", "1500", "JPY"))}
${entry("1.205", "KWD", "", payment("2", "x", "1.205", "KWD"))}
${entry("8.20", "EUR", "", payment("523415642750058497", "0042", "4.10", "EUR") + payment("523415642750058498", "x", "4.10", "EUR"))}
</Stmt></BkToCstmrStmt></Document>`);
for (const e of report.statements[0].entries) console.log(e.currency, e.amount, "reversal:", e.reversal, JSON.stringify(e.transactions));

const shop = { name: "Shop", id: "SHOP", account: { accountNumber: "1234567890" }, agent: { bic: "CHASUS33", bankAddress: { country: "US" } } };
const address = { streetName: "Street 1", townName: "Town", postalCode: "12345", country: "DE" };
for (const currency of ["EUR", "JPY", "KWD"]) {
  const xml = new ISO20022({ initiatingParty: shop }).createSWIFTCreditPaymentInitiation([{ type: "swift", direction: "credit", amount: 149900, currency,
    creditor: { name: "Alice", account: { iban: "DE89370400440532013000" }, agent: { bic: "COBADEFFXXX" }, address } }]).toString();
  console.log("149900 of the minor unit:", xml.match(/<InstdAmt.*?<\/InstdAmt>/)[0]);
}
JS
node all.mjs | tee said
diff said - <<'EOF'
JPY 150000 reversal: false [{"remittanceInformation":"x"}]
KWD 120.5 reversal: false [{"remittanceInformation":"x"}]
EUR 819.9999999999999 reversal: false [{"remittanceInformation":42},{"remittanceInformation":"x"}]
149900 of the minor unit: <InstdAmt Ccy="EUR">1499</InstdAmt>
149900 of the minor unit: <InstdAmt Ccy="JPY">1499</InstdAmt>
149900 of the minor unit: <InstdAmt Ccy="KWD">1499</InstdAmt>
EOF
