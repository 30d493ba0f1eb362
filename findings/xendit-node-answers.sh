#!/bin/bash
# Is it paid, is it refunded? Xendit's answers, as its own library for Node hands them on.
#
# A refund is PENDING and later SUCCEEDED or FAILED; the answer to POST /refunds has its status (docs.xendit.co/apidocs/refund-payment-request, read
# on 2026-11-28). The package's types of the two webhooks have status and reason of a refund, and what was paid of an invoice, when and by which
# payment: paidAmount, paidAt, paymentId.
#
# One would guess: asked for the same refund or invoice, the library returns the same fields, and hands on what it does not know.
# It is so:
# - A refund comes without status, reason and payment method, asked for or just created: whether money went back cannot be seen. failureCode
#   is there, and not having one says nothing of a pending refund.
# - An invoice comes without the amount, the time and the id of its payment. Who missed the webhook cannot make up for it by asking.
# - A status or payment method newer than the library is the text UNKNOWN_ENUM_VALUE. What it was is gone, as are all fields that it has no name for.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts xendit-node@7.0.0 >/dev/null
cat >try.js <<'EOF2'
const { Xendit } = require("xendit-node");
const { RefundCallbackFromJSON } = require("xendit-node/refund/models");
const { InvoiceCallbackFromJSON } = require("xendit-node/invoice/models");
console.log("xendit-node " + require("xendit-node/package.json").version);
const at = "2026-11-28T10:00:00.000Z";
const refund = {
  id: "rfd-1", payment_id: "py-1", payment_request_id: "pr-1", payment_method_type: "EWALLET", channel_code: "OVO", amount: 5000, currency: "IDR", country: "ID",
  status: "PENDING", reason: "REQUESTED_BY_CUSTOMER", reference_id: "123456789012345678", created: at, updated: at,
};
const invoice = {
  id: "i-1", external_id: "123456789012345678", user_id: "u-1", merchant_name: "Shop", merchant_profile_picture_url: "", invoice_url: "", amount: 10000, currency: "IDR",
  status: "PAID", paid_amount: 10000, paid_at: at, payment_id: "py-1", payment_method: "EWALLET", expiry_date: at, created: at, updated: at,
  available_banks: [], available_retail_outlets: [], available_ewallets: [], available_qr_codes: [], available_direct_debits: [], available_paylaters: [],
  should_exclude_credit_card: false, should_send_email: false,
};
let answer;
globalThis.fetch = async () => new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
const told = (name, { status, reason, paymentMethodType, paymentMethod, paidAmount, paidAt, paymentId }) =>
  console.log(name + ": " + JSON.stringify({ status, reason, paymentMethodType, paymentMethod, paidAmount, paidAt, paymentId }));
(async () => {
  const xendit = new Xendit({ secretKey: "xnd_development_1" });
  told("webhook of a refund", RefundCallbackFromJSON({ event: "refund.succeeded", business_id: "u-1", created: at, data: { ...refund, status: "SUCCEEDED" } }).data);
  answer = refund;
  told("refund created", await xendit.Refund.createRefund({ data: { invoiceId: "i-1", amount: 5000, reason: "REQUESTED_BY_CUSTOMER" } }));
  answer = { ...refund, status: "SUCCEEDED" };
  told("refund asked for", await xendit.Refund.getRefund({ refundID: "rfd-1" }));
  told("webhook of an invoice", InvoiceCallbackFromJSON(invoice));
  answer = invoice;
  told("invoice asked for", await xendit.Invoice.getInvoiceById({ invoiceId: "i-1" }));
  answer = { ...invoice, status: "PARTIALLY_PAID" };
  told("in a status that is new", await xendit.Invoice.getInvoiceById({ invoiceId: "i-1" }));
})();
EOF2
node try.js | tee said
diff said - <<'EOF2'
xendit-node 7.0.0
webhook of a refund: {"status":"SUCCEEDED","reason":"REQUESTED_BY_CUSTOMER","paymentMethodType":"EWALLET","paymentId":"py-1"}
refund created: {}
refund asked for: {}
webhook of an invoice: {"status":"PAID","paymentMethod":"EWALLET","paidAmount":10000,"paidAt":"2026-11-28T10:00:00.000Z","paymentId":"py-1"}
invoice asked for: {"status":"PAID","paymentMethod":"EWALLET"}
in a status that is new: {"status":"UNKNOWN_ENUM_VALUE","paymentMethod":"EWALLET"}
EOF2
