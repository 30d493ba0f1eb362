#!/bin/bash
# cdk-nag on a SAM template that is included with CfnInclude, which cdk-nag's documents name as a way to check templates.
# One would guess: the rules on functions look at AWS::Serverless::Function, too, or say that they do not.
# It is so: of a function that breaks rules nothing is found and nothing said. The same function as AWS::Lambda::Function
# breaks AwsSolutions-L1 (an old runtime) and five more: include what SAM's translator makes of the template.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error aws-cdk-lib@2.276.0 cdk-nag@3.0.2 constructs@10.8.1 >/dev/null
cat >run.js <<'JS'
import { App, Stack, Validations } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import { readFileSync, writeFileSync } from "node:fs";
const code = { Runtime: "nodejs18.x", Handler: "index.handler", Role: "arn:aws:iam::123456789012:role/r" };
const templates = {
  "AWS::Serverless::Function": { Transform: "AWS::Serverless-2016-10-31", Resources: { F: { Type: "AWS::Serverless::Function", Properties: { ...code, CodeUri: "s3://bucket/code" } } } },
  "AWS::Lambda::Function": { Resources: { F: { Type: "AWS::Lambda::Function", Properties: { ...code, Code: { S3Bucket: "bucket", S3Key: "code" } } } } },
};
for (const [name, template] of Object.entries(templates)) {
  writeFileSync("template.json", JSON.stringify(template));
  const app = new App({ analyticsReporting: false, outdir: "out" });
  new CfnInclude(new Stack(app, "S"), "T", { templateFile: "template.json" });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  let outcome = "synthesized";
  try {
    app.synth();
  } catch {
    outcome = "refused";
  }
  const { pluginReports } = JSON.parse(readFileSync("out/validation-report.json", "utf8"));
  const rules = pluginReports.flatMap((r) => r.violations.map((v) => v.ruleName)).filter((n) => /^(AwsSolutions|Serverless)-/.test(n));
  console.log(`${name}: ${outcome}, ${rules.length ? rules.sort().join(" ") : "no rule is broken"}`);
}
JS
npm ls --depth 0 | grep @
seen=$(node run.js 2>/dev/null)
echo "$seen"
[ "$seen" = "AWS::Serverless::Function: synthesized, no rule is broken
AWS::Lambda::Function: refused, AwsSolutions-L1 Serverless-LambdaDLQ Serverless-LambdaDefaultMemorySize Serverless-LambdaDefaultTimeout\
 Serverless-LambdaLatestVersion Serverless-LambdaTracing" ]
