#!/bin/bash
# Numbers beyond 2^53 of DynamoDB's items, such as ids of 18 digits, by AWS's converter for JavaScript.
#
# One would guess: unmarshall rounds them or refuses them, and what it returns marshall writes again; or both depend on the number.
# It is so:
# - unmarshall makes a bigint of them, and a number of all others: {1, 529712906619584513} is a set of both types.
# - Whether marshall takes that set depends on its first element. With the bigint first it is written, with the number first it throws,
#   as it does not for the bigint alone. So an item that was read cannot be written back, depending on the order of the set.
# - A price of 12345678901234567.25, with 19 of DynamoDB's 38 digits, cannot be read at all: with it the whole item throws. A
#   fraction below 2^53 is rounded without a word, whatever its length.
# - ElectroDB hands the bigint out for an attribute that is a "number", and refuses to write it.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @aws-sdk/client-dynamodb@3.1169.0 @aws-sdk/util-dynamodb@3.996.9 electrodb@3.9.3 >/dev/null
cat >run.js <<'JS'
const { marshall, unmarshall } = require("@aws-sdk/util-dynamodb");
const { Entity } = require("electrodb");
const said = f => { try { return f(); } catch (e) { return e.name + ": " + e.message.slice(0, 62); } };
const kinds = set => [...set].map(v => typeof v).join();
for (const NS of [["529712906619584513"], ["529712906619584513", "1"], ["1", "529712906619584513"]]) {
  const read = unmarshall({ ids: { NS } });
  console.log(NS.join(), "is", kinds(read.ids), "and written", said(() => marshall(read).ids.NS.join()));
}
for (const N of ["14.99", "0.1000000000000000055", "12345678901234567.25"]) console.log(N, "is", said(() => unmarshall({ price: { N } }).price));
const orders = new Entity({ model: { entity: "order", version: "1", service: "shop" }, attributes: { user: { type: "string" }, number: { type: "number" } },
  indexes: { one: { pk: { field: "pk", composite: ["user"] }, sk: { field: "sk", composite: [] } } } }, { table: "T" });
const Item = { ...orders.put({ user: "alice", number: 1 }).params().Item, ...unmarshall({ number: { N: "529712906619584513" } }) };
const { data } = orders.parse({ Item });
console.log("electrodb reads a", typeof data.number, "and writes", said(() => orders.put(data).params().Item.number));
JS
npm ls --depth 0 | grep @
node run.js 2>&1 | tee said
diff said - <<'SEEN'
529712906619584513 is bigint and written 529712906619584513
529712906619584513,1 is bigint,number and written 529712906619584513,1
1,529712906619584513 is number,bigint and written Error: Number 529712906619584513 is greater than Number.MAX_SAFE_INTE
14.99 is 14.99
0.1000000000000000055 is 0.1
12345678901234567.25 is Error: 12345678901234567.25 can't be converted to BigInt. Set options
electrodb reads a bigint and writes ElectroValidationError: Invalid value type at entity path: "number". Received value of
SEEN
