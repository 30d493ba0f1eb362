#!/bin/bash
# A bill and a list of refunds joined by the payment's id, as CSV in DuckDB: 28 digits, as WeChat Pay and Alipay have them, or Adyen's 16 characters.
#
# One would guess: DuckDB, which has whole numbers of 38 digits (HUGEINT), reads an id of 28 digits exactly, or as a text; quotes make a text of it;
# and ids that differ are different in a join.
# It is so: HUGEINT is not among the types that a file is tried for. Beyond BIGINT a column of digits, in quotes or not, is a DOUBLE, without a word.
# - Ids that differ in their last ten digits only, before which WeChat Pay has the day, are one: the join gives each refund to each of their payments, so
#   that sums are wrong. So it is where the other side is a table's VARCHAR, and with WHERE trade_no = '4200…'.
# - Digits with one E among them are a number: 8836E12345678901 is Infinity, and equal to the next.
# INSERT INTO a table whose column is a VARCHAR keeps each digit, CREATE TABLE … AS does not; types = {'trade_no': 'VARCHAR'} always does. WeChat Pay's own
# bill has a backtick before each cell and Alipay's a tab behind it: as they come both are texts.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @duckdb/node-api@1.5.6-r.1 >/dev/null
printf '%s\n' trade_no,paid '"4200002976202611290000000010",1499.00' '"4200002976202611290000000011",0.10' '"4200002976202611290000000012",3.00' >bill.csv
printf '%s\n' trade_no,refunded 4200002976202611290000000011,0.10 >refunds.csv
printf '%s\n' reference,paid 8836E12345678901,1 8836E12345678902,2 >adyen.csv
printf '%s\n' trade_no,paid '`4200002976202611290000000010,`1499.00' '`4200002976202611290000000011,`0.10' >wechat.csv
printf 'trade_no,paid\n4200002976202611290000000010\t,1499.00\n4200002976202611290000000011\t,0.10\n' >alipay.csv
cat >try.cjs <<'EOF2'
const { DuckDBInstance, version } = require("@duckdb/node-api");
(async () => {
  const duckdb = await (await DuckDBInstance.create()).connect();
  console.log("DuckDB", version());
  await duckdb.run("CREATE TABLE refunds AS SELECT '4200002976202611290000000011' AS trade_no");
  await duckdb.run("CREATE TABLE texts (trade_no VARCHAR, paid DOUBLE)");
  await duckdb.run("INSERT INTO texts SELECT * FROM 'bill.csv'");
  await duckdb.run("CREATE TABLE made AS SELECT * FROM 'bill.csv'");
  for (const query of [
    "SELECT DISTINCT typeof(trade_no) FROM 'bill.csv'", "SELECT count(DISTINCT trade_no) FROM 'bill.csv'",
    "SELECT paid, refunded FROM 'bill.csv' JOIN 'refunds.csv' USING (trade_no)", "SELECT paid FROM 'bill.csv' JOIN refunds USING (trade_no)",
    "SELECT paid FROM 'bill.csv' WHERE trade_no = '4200002976202611290000000011'",
    "SELECT paid FROM read_csv('bill.csv', types = {'trade_no': 'VARCHAR'}) JOIN refunds USING (trade_no)",
    "SELECT paid FROM texts JOIN refunds USING (trade_no)", "SELECT paid FROM made JOIN refunds USING (trade_no)",
    "SELECT reference, typeof(reference) FROM 'adyen.csv'", "SELECT DISTINCT typeof(trade_no) FROM 'wechat.csv'", "SELECT DISTINCT typeof(trade_no) FROM 'alipay.csv'",
  ]) console.log(`${query}: ${JSON.stringify((await duckdb.runAndReadAll(query)).getRowsJson())}`);
})();
EOF2
node try.cjs | tee said
diff said - <<'EOF2'
DuckDB v1.5.6
SELECT DISTINCT typeof(trade_no) FROM 'bill.csv': [["DOUBLE"]]
SELECT count(DISTINCT trade_no) FROM 'bill.csv': [["1"]]
SELECT paid, refunded FROM 'bill.csv' JOIN 'refunds.csv' USING (trade_no): [[1499,0.1],[0.1,0.1],[3,0.1]]
SELECT paid FROM 'bill.csv' JOIN refunds USING (trade_no): [[1499],[0.1],[3]]
SELECT paid FROM 'bill.csv' WHERE trade_no = '4200002976202611290000000011': [[1499],[0.1],[3]]
SELECT paid FROM read_csv('bill.csv', types = {'trade_no': 'VARCHAR'}) JOIN refunds USING (trade_no): [[0.1]]
SELECT paid FROM texts JOIN refunds USING (trade_no): [[0.1]]
SELECT paid FROM made JOIN refunds USING (trade_no): [[1499],[0.1],[3]]
SELECT reference, typeof(reference) FROM 'adyen.csv': [["Infinity","DOUBLE"],["Infinity","DOUBLE"]]
SELECT DISTINCT typeof(trade_no) FROM 'wechat.csv': [["VARCHAR"]]
SELECT DISTINCT typeof(trade_no) FROM 'alipay.csv': [["VARCHAR"]]
EOF2
