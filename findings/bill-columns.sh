#!/bin/bash
# A bill of Alipay, whose values of digits have a tab behind them so that a spreadsheet takes them for texts, and a sheet with
# semicolons in an unquoted text, opened with what each reader has preset.
#
# One would guess: the tab keeps ids of 28 digits whole, and a reader that guesses the separator takes the comma, of which
# each row has the same number. It is so:
# - SheetJS (npm's xlsx) drops the tab and makes numbers of ids: ...10 and ...11 of 28 digits are the same one afterwards. A
#   tab alone stays a text. csvkit's csvjson does the same as long as all of a column are ids.
# - With the lines of # around it, as Alipay has them: Papa Parse takes the tab for the separator (and the comma, if told of
#   comments), Python's csv.Sniffer the carriage return, and csvkit finds none.
# - A file with more semicolons than commas is separated by semicolons for SheetJS; not so for Papa Parse and csv.Sniffer.
#
# Python 3.11 and csvkit 1.0.7 of Debian 12; csvkit is installed if this is root's shell and it is missing.
set -euo pipefail
if ! command -v csvjson >/dev/null; then
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends csvkit='1.0.7-*' >/dev/null
fi
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error papaparse@5.7.1 xlsx@0.18.5 >/dev/null
npm ls --depth 0 | grep @
row() { printf '%s\t,%s\t,%s\t,茅台,2026-11-12 10:00:00,\t,%s,%s\r\n' "2026111222001441121400000$1" "52341564275005$1" "$2" "$3" "$3"; }
{
	printf '%s\r\n' 支付宝交易号,商户订单号,业务类型,商品名称,完成时间,门店编号,订单金额（元）,商家实收（元）
	row 0010 交易 899.00
	row 0011 交易 899.00
	row 0010 退款 -899.00
} >rows.csv
{
	printf '%s\r\n' '#支付宝业务明细查询' '#账号：[20881234567890120156]' '#起始日期：[2026年11月12日 00:00:00]   终止日期：[2026年11月13日 00:00:00]' '#----------业务明细列表----------'
	cat rows.csv
	printf '%s\r\n' '#----------业务明细列表结束----------' '#交易合计：2笔，商家实收共1798.00元，商家优惠共0.00元' '#导出时间：[2026年11月13日 10:00:00]'
} >bill.csv
printf 'id,description,gross\r\n%s\r\n%s\r\n' 'txn_1,Jacket; blue; XL; new; boxed,5.00' 'txn_2,Cap; red; M; new; boxed,6.00' >texts.csv
cat >all.mjs <<'JS'
import fs from "fs";
import Papa from "papaparse";
import X from "xlsx";

const text = (name) => fs.readFileSync(name, "utf8");
const sheet = (name) => {
  const book = X.read(text(name), { type: "string" });
  return X.utils.sheet_to_json(book.Sheets[book.SheetNames[0]], { header: 1 });
};
const rows = sheet("rows.csv");
console.log("SheetJS, rows:", JSON.stringify(rows[1].slice(0, 3)), "the first two ids are the same:", rows[1][0] === rows[2][0]);
console.log("SheetJS, texts:", JSON.stringify(sheet("texts.csv")[1]));
for (const [name, options] of [["rows.csv"], ["bill.csv"], ["bill.csv", { comments: "#" }], ["texts.csv"]]) console.log("Papa Parse,", name, JSON.stringify(options ?? {}), JSON.stringify(Papa.parse(text(name), { ...options }).meta.delimiter));
JS
node all.mjs | tee said
/usr/bin/python3 -c '
import csv
for name in ("rows.csv", "bill.csv", "texts.csv"): print("csv.Sniffer,", name, repr(csv.Sniffer().sniff(open(name, encoding="utf-8", newline="").read()).delimiter))' | tee -a said
dpkg-query -W csvkit
echo "csvkit, rows: $(csvjson rows.csv | head -c 44)" | tee -a said
echo "csvkit, bill: $(csvjson bill.csv 2>&1 | tail -1)" | tee -a said
diff said - <<'EOF'
SheetJS, rows: [2.0261112220014412e+28,523415642750050000,"交易\t"] the first two ids are the same: true
SheetJS, texts: ["txn_1,Jacket"," blue"," XL"," new"," boxed,5.00"]
Papa Parse, rows.csv {} ","
Papa Parse, bill.csv {} "\t"
Papa Parse, bill.csv {"comments":"#"} ","
Papa Parse, texts.csv {} ","
csv.Sniffer, rows.csv ','
csv.Sniffer, bill.csv '\r'
csv.Sniffer, texts.csv ','
csvkit, rows: [{"支付宝交易号": 2.0261112220014412e+
csvkit, bill: ValueError: Row 3 has 8 values, but Table only has 1 columns.
EOF
