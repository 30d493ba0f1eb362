#!/bin/bash
# CSV (RFC 4180) with apostrophes within quoted cells, read by DuckDB, which finds out for itself how a file is written: a price in Swiss francs, a
# height in feet and inches, and ids that begin with an apostrophe, so that a spreadsheet leaves them as they are.
#
# One would guess: the quote is " and what escapes it is ", as DuckDB's documents have it for what is preset; an apostrophe is a character.
# It is so: if a column looks like numbers without its apostrophes, the apostrophe is taken for the escape, so that
# - the file is refused, with "Could not convert string "1'000.50" to 'DOUBLE'": the types were found with the apostrophes taken away;
# - with all_varchar = true, which is to leave everything as it is, 5'10 is the text 510.
# One text in that column, or one "" anywhere, and all is read as it stands. With escape = '"' it always is.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @duckdb/node-api@1.5.6-r.1 >/dev/null
cat >try.cjs <<'EOF2'
const { writeFileSync } = require("node:fs");
const { DuckDBInstance, version } = require("@duckdb/node-api");

const files = {
  francs: `amount,of\n"1'000.50",a\n"2'500.00",b\n`, feet: `height,of\n"5'10","a"\n"6'1","b"\n`, ids: `id,code\n"'523415642750058497","'0042"\n"'523415642750058498","'A-1"\n`,
  "feet, and a text": `height,of\n"5'10","a"\ntall,"b"\n`, 'feet, and a ""': `height,of\n"5'10","a ""b"""\n"6'1","b"\n`,
};
(async () => {
  const duckdb = await (await DuckDBInstance.create()).connect();
  console.log("DuckDB", version());
  for (const [name, text] of Object.entries(files)) {
    writeFileSync("list.csv", text);
    for (const options of ["", ", all_varchar = true", `, escape = '"'`]) {
      const read = duckdb.runAndReadAll(`SELECT * FROM read_csv('list.csv'${options})`);
      const result = await read.then((rows) => JSON.stringify(rows.getRowsJson()), (error) => error.message.match(/Could not convert .*/)[0]);
      console.log(`${name}${options}: ${result}`);
    }
  }
})();
EOF2
node try.cjs | tee said
diff said - <<'EOF2'
DuckDB v1.5.6
francs: Could not convert string "1'000.50" to 'DOUBLE'
francs, all_varchar = true: [["1000.50","a"],["2500.00","b"]]
francs, escape = '"': [["1'000.50","a"],["2'500.00","b"]]
feet: Could not convert string "5'10" to 'BIGINT'
feet, all_varchar = true: [["510","a"],["61","b"]]
feet, escape = '"': [["5'10","a"],["6'1","b"]]
ids: Could not convert string "'523415642750058497" to 'BIGINT'
ids, all_varchar = true: [["523415642750058497","0042"],["523415642750058498","A-1"]]
ids, escape = '"': [["'523415642750058497","'0042"],["'523415642750058498","'A-1"]]
feet, and a text: [["5'10","a"],["tall","b"]]
feet, and a text, all_varchar = true: [["5'10","a"],["tall","b"]]
feet, and a text, escape = '"': [["5'10","a"],["tall","b"]]
feet, and a "": [["5'10","a \"b\""],["6'1","b"]]
feet, and a "", all_varchar = true: [["5'10","a \"b\""],["6'1","b"]]
feet, and a "", escape = '"': [["5'10","a \"b\""],["6'1","b"]]
EOF2
