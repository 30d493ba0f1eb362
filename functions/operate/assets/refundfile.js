// Reads which payments a file says were paid back, as `flashsale refund mark --file` does: infra/ops/operator/refundfile.go
// has the same tables and says where they are from.

/** @typedef {{payment: string, back: number, currency: string}} Row back is Infinity if the file does not say how much, and NaN if that cannot be read */

/** Titles of the columns of providers' lists, in small letters: payment, kind, done, undone, amounts, currencies. @type {[string, string, string, string, string[], string[]][]} */
const sheets = [
  ["payment_intent_id", "reporting_category", "refund", "refund_failure", ["customer_facing_amount", "gross"], ["customer_facing_currency", "currency"]],
  ["paymentintent id", "status", "refunded", "", ["amount refunded"], ["currency"]],
  ["psp reference", "type", "refunded", "refundedreversed", ["gross debit (gc)"], ["gross currency"]],
  ["psp reference", "record type", "refunded", "refundedreversed", ["captured (pc)"], ["payment currency"]],
  ["支付宝交易号", "业务类型", "退款", "", ["订单金额（元）"], []],
  ["微信订单号", "退款状态", "success", "", ["申请退款金额", "退款金额"], ["货币种类"]],
  ["微信订单号", "交易状态", "refund", "", [], []],
  ...["payment_intent_id", "paymentintent id", "psp reference", "payment", "reference", "id"].map((title) => /** @type {[string, string, string, string, string[], string[]]} */ ([title, "", "", "", [], []])),
];

/** The text of a file: UTF-16 if its mark says so, else UTF-8 if it can be, else Chinese. @param {ArrayBuffer} file */
function textOf(file) {
  const [a, b] = new Uint8Array(file);
  if (a + b === 0x1FD && (a === 0xFF || b === 0xFF)) return new TextDecoder(a === 0xFF ? "utf-16le" : "utf-16be").decode(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(file);
  } catch {
    return new TextDecoder("gb18030").decode(file);
  }
}

/** The lines of cells. A tab before another separator fills up a value; a cell in quotes may have line breaks. @param {string} text */
function cellsOf(text) {
  const first = text.split(/[\r\n]+/).find((line) => line.trim() && !line.trim().startsWith("#")) ?? "";
  const separator = /[ \t]*([,;])|\t/.exec(first.trim().replace(/"[^"]*"/g, ""))?.[0].slice(-1) ?? ",";
  const cell = new RegExp(`("[^"]*(?:""[^"]*)*"|[^${separator}\r\n]*)[ \t]*?(${separator}|\r\n|\r|\n|$)`, "y");
  const rows = [];
  for (let row = []; cell.lastIndex < text.length;) {
    const [, found, end] = /** @type {RegExpExecArray} */ (cell.exec(text));
    row.push(found.replace(/^[ \t"'`]+|[ \t"'`]+$/g, ""));
    if (end === separator && cell.lastIndex < text.length) continue;
    if (row.some((c) => c) && row[0][0] !== "#") rows.push(row);
    row = [];
  }
  return rows;
}

/** @param {ArrayBuffer} file @returns {{rows: Row[], others: number}} others are the rows of a provider's list that are no refunds */
export function refundsIn(file) {
  const [a, b, c] = new Uint8Array(file);
  const isPacked = (a === 0x50 && b === 0x4B && c === 3) || (a === 0x1F && b === 0x8B); // a ZIP, as Alipay's bills and workbooks are, or compressed
  const lines = isPacked ? [] : cellsOf(textOf(file));
  const titles = (lines[0] ?? []).map((c) => c.toLowerCase());
  const is = sheets.find(([payment, kind]) => titles.includes(payment) && (!kind || titles.includes(kind)));
  if (!is) return { rows: lines.filter(([payment]) => payment).map(([payment]) => ({ payment, back: Infinity, currency: "" })), others: 0 };
  const [title, kind, done, undone, amounts, currencies] = is;
  const at = (/** @type {string[]} */ cells, /** @type {string[]} */ ...names) => names.map((n) => cells[titles.indexOf(n)]).find((c) => c) ?? "";
  /** @type {Map<string, Row>} */
  const named = new Map();
  const [rows, came, seen] = [/** @type {Row[]} */ ([]), new Set(), new Set()];
  let others = 0;
  for (const cells of lines.slice(1)) {
    const payment = at(cells, title);
    const row = named.get(payment);
    const amount = at(cells, ...amounts), currency = at(cells, ...currencies).toUpperCase();
    const found = /^[-+]?(\d+(?:\.\d+)?|\d+,(?:\d{1,2}|\d{4}))$/.exec(amount); // a comma is a decimal one if other than three digits follow it
    const back = found ? Number(found[1].replace(",", ".")) : amount ? NaN : Infinity;
    const text = cells.join("\n");
    if (kind && seen.has(text)) continue; // of two reports that overlap
    seen.add(text);
    if (kind && (!payment || at(cells, kind).toLowerCase() !== done)) {
      others++;
      if (undone && at(cells, kind).toLowerCase() === undone) came.add(payment);
    } else if (kind && row) row.back += row.currency === currency ? back : NaN; // in several parts
    else if (payment) {
      rows.push({ payment, back, currency });
      named.set(payment, rows[rows.length - 1]);
    }
  }
  const left = rows.filter((r) => !came.has(r.payment));
  return { rows: left, others: others + rows.length - left.length };
}
