#!/bin/bash
# Does Mercado Pago's own library verify the webhook of an order?
#
# x-signature is ts=…,v1=…, and v1 the HMAC-SHA256 of id:…;request-id:…;ts:…; where the id is that of the address (data.id) in small letters,
# says Mercado Pago (developers, "Notifications" of the Checkout API by orders, as of 2026). Orders have ids as ORD01JQ4S4KY8HWQ6NA5PXB65B3D3, and the
# ts of its example is 1742505638683, in milliseconds; older payments have digits alone, and a ts in seconds.
#
# One would guess: npm's mercadopago, which is given that data.id "of the query string", writes it small; and counts such a ts as it is.
# It is so: it takes both as they stand. The webhook of each order is a SignatureMismatch until the caller makes the id small, which neither its types nor its README
# say; and with toleranceSeconds a ts in milliseconds is one of the year 57187, and refused as out of tolerance. Payments by digits and seconds pass.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts mercadopago@3.6.1 >/dev/null
cat >try.js <<'EOF2'
const { createHmac } = require("node:crypto");
const { WebhookSignatureValidator } = require("mercadopago");
console.log("mercadopago " + require("mercadopago/package.json").version);
const secret = "secret", xRequestId = "bb56a2f1-6aae-46ac-982e-9dcd3581d08e", now = () => 1742505640000;
const told = (name, id, ts, more) => {
  const v1 = createHmac("sha256", secret).update(`id:${id.toLowerCase()};request-id:${xRequestId};ts:${ts};`).digest("hex");
  let said = "valid";
  try {
    WebhookSignatureValidator.validate({ xSignature: `ts=${ts},v1=${v1}`, xRequestId, dataId: id, secret, now, ...more });
  } catch (error) {
    said = error.reason;
  }
  console.log(name + ": " + said);
};
const order = "ORD01JQ4S4KY8HWQ6NA5PXB65B3D3", within = { toleranceSeconds: 300 };
told("an order", order, "1742505638683");
told("an order, its id made small", order, "1742505638683", { dataId: order.toLowerCase() });
told("the same, within five minutes", order, "1742505638683", { dataId: order.toLowerCase(), ...within });
told("a payment, in seconds, within five minutes", "123456789", "1742505638", within);
EOF2
node try.js | tee said
diff said - <<'EOF2'
mercadopago 3.6.1
an order: SignatureMismatch
an order, its id made small: valid
the same, within five minutes: TimestampOutOfTolerance
a payment, in seconds, within five minutes: valid
EOF2
