// Buyers of a flash sale, at a constant rate whatever becomes of the earlier ones, for k6 (https://k6.io).
// `make rehearse` made it from the OpenAPI document. Each buyer has a token of a file
// that `make tokens` writes; its path is relative to this script:
//
//   k6 run -e SALE=… -e TOKENS=tokens k6.js
//
// URL, RATE (buyers a second) and DURATION (in seconds) are the rehearsal's unless given in the same way. For one load from four machines,
// start it on each with its own --execution-segment, 0:1/4, 1/4:2/4 and so on, and the same tokens.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, sleep } from 'k6';
import { SharedArray } from 'k6/data';
import { Counter, Trend } from 'k6/metrics';

const made = {};

const given = (name, otherwise) => __ENV[name] || otherwise;
const url = given('URL', made.url).replace(/\/$/, ''), sale = given('SALE', '');
const rate = Number(given('RATE', made.rate)), seconds = Number(given('DURATION', made.seconds));
if (!sale || !__ENV.TOKENS || !(rate > 0) || !(seconds > 0)) {
  throw new Error('give SALE, TOKENS (a file), and RATE and DURATION above 0');
}
const tokens = new SharedArray('tokens', () => open(__ENV.TOKENS).split('\n').filter((line) => line));
if (tokens.length < rate * seconds) {
  throw new Error(`TOKENS has ${tokens.length} tokens, too few for ${rate * seconds} buyers`);
}

export const options = {
  scenarios: {
    buyers: {
      executor: 'constant-arrival-rate', rate: Math.max(1, Math.round(60 * rate)), timeUnit: '60s', duration: `${seconds}s`,
      preAllocatedVUs: Math.ceil(2 * rate), maxVUs: Math.ceil(60 * rate), gracefulStop: '120s',
    },
  },
  // A dropped iteration is a buyer whom k6 could not send in time.
  thresholds: { checks: ['rate==1'], dropped_iterations: ['count==0'] },
  summaryTrendStats: ['med', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
};

const accepted = new Counter('orders_accepted'), confirmed = new Counter('orders_confirmed');
const answered = new Trend('accepted_after', true), ordered = new Trend('order_id_after', true);

// send makes one request of the document and compares the answer's status with those that the document lists.
function send(operation, headers) {
  const { method, path, statuses } = made.operations[operation];
  const response = http.request(method, url + path.replace('{saleId}', encodeURIComponent(sale)), null, {
    headers, tags: { name: operation }, responseCallback: http.expectedStatuses(...statuses),
  });
  check(response, {
    [`${operation}: the status is documented`]: (r) => statuses.includes(r.status),
    [`${operation}: no internal error`]: (r) => r.status !== 500,
  });
  return response;
}

const pause = (response) => sleep(Math.min(Number(response.headers['Retry-After']) || 1, 30));

export default function () {
  const number = exec.scenario.iterationInTest, began = Date.now();
  if (number >= tokens.length) return; // more than the rate by a rounding
  const headers = { Authorization: `Bearer ${tokens[number]}`, 'Idempotency-Key': `k6-${number}` };
  // No answer, 429, 500 and 503 are no "no": the same request again.
  let answer = send('purchase', headers);
  for (let tries = 1; [0, 429, 500, 503].includes(answer.status) && tries < 20; tries++) {
    pause(answer);
    answer = send('purchase', headers);
  }
  if (answer.status !== 202) return;
  accepted.add(1);
  answered.add(Date.now() - began);
  for (let polls = 0; polls < 60; polls++) {
    pause(answer);
    answer = send('claim', { Authorization: headers.Authorization });
    if (answer.status === 200 && answer.json('orderId')) {
      confirmed.add(1);
      ordered.add(Date.now() - began);
      return;
    }
  }
  check(answer, { 'claim: an order id in time': () => false });
}
