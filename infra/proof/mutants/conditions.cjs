// Prints the changes of one condition in the page's scripts, as JSON: each comparison by its
// opposite, each "and" by "or", and each condition without an operator by its negation.
// Arguments: the TypeScript package, then the scripts.
"use strict";
const { readFileSync } = require("node:fs");
const { basename } = require("node:path");
const [typescript, ...files] = process.argv.slice(2);
const ts = require(typescript);

const swaps = {
  "<": ">=", "<=": ">", ">": "<=", ">=": "<", "===": "!==", "!==": "===", "&&": "||", "||": "&&",
};

const changes = [];
for (const path of files) {
  const text = readFileSync(path, "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const seen = new Map();
  const add = (start, end, replacement, what) => {
    const { line } = source.getLineAndCharacterOfPosition(start);
    const first = source.getLineStarts()[line];
    const whole = text.slice(first).split("\n", 1)[0];
    if (end > first + whole.length) return; // over several lines: its parts are changed
    let name = basename(path) + ": " + whole.trim() + ": " + what;
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    if (n > 1) name += " (" + n + ")";
    changes.push({ name, file: basename(path), line, text: whole.slice(0, start - first) + replacement + whole.slice(end - first) });
  };
  const isPlain = (e) => !ts.isBinaryExpression(e) || !swaps[e.operatorToken.getText()];
  const visit = (node) => {
    if (ts.isBinaryExpression(node)) {
      const token = node.operatorToken;
      const is = swaps[token.getText()];
      if (is) add(token.getStart(), token.getEnd(), is, is + " for " + token.getText());
    }
    const condition = ts.isConditionalExpression(node) || ts.isForStatement(node) ? node.condition :
      ts.isIfStatement(node) || ts.isWhileStatement(node) ? node.expression : undefined;
    if (condition && isPlain(condition)) {
      const was = condition.getText();
      add(condition.getStart(), condition.getEnd(), "!(" + was + ")", "not " + was);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
console.log(JSON.stringify(changes));
