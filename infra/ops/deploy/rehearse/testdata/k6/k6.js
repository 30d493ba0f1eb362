// A stand-in for the parts of k6 that the script uses, for node: one buyer after the other, with requests by curl. Pauses
// are ten times shorter.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

globalThis.__ENV = process.env;
globalThis.open = (file) => readFileSync(file, 'utf8');

export const counts = {}, failed = [];
export const check = (value, checks) => failed.push(...Object.keys(checks).filter((name) => !checks[name](value)));
export const sleep = (seconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100 * seconds);
export class SharedArray { constructor(_, make) { return make(); } }
export class Counter {
  constructor(name) { this.name = name; }
  add(n) { counts[this.name] = (counts[this.name] ?? 0) + n; }
}
export class Trend { add() {} }

export default {
  scenario: {},
  expectedStatuses: (...statuses) => statuses,
  request(method, url, _, { headers }) {
    const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
    const [head, body] = execFileSync('curl', ['-s', '-i', '-X', method, ...named, url], { encoding: 'utf8' }).split('\r\n\r\n', 2);
    const [first, ...lines] = head.split('\r\n');
    return {
      status: Number(first.split(' ')[1]), headers: Object.fromEntries(lines.map((line) => line.split(': '))),
      json: (name) => JSON.parse(body)[name],
    };
  },
};
