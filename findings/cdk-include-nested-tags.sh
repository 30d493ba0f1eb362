#!/bin/bash
# A nested stack with Tags, in a template that is included with CfnInclude's loadNestedStacks.
# One would guess: the nested stack keeps its properties; only TemplateURL becomes the one of the CDK's asset.
# It is so: Tags are gone, from the nested stack and so from all that it makes, which get them from CloudFormation. Without
# loadNestedStacks they stay. Parameters, NotificationARNs and TimeoutInMinutes stay in both.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error aws-cdk-lib@2.276.0 constructs@10.8.1 >/dev/null
cat >run.js <<'JS'
import { App, Stack } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { writeFileSync } from "node:fs";
writeFileSync("inner.json", JSON.stringify({ Parameters: { Name: { Type: "String" } }, Resources: { T: { Type: "AWS::SNS::Topic" } } }));
writeFileSync("template.json", JSON.stringify({
  Resources: {
    Inner: {
      Type: "AWS::CloudFormation::Stack",
      Properties: {
        TemplateURL: "https://bucket.s3.amazonaws.com/inner.json", Parameters: { Name: "a" }, TimeoutInMinutes: 5,
        NotificationARNs: ["arn:aws:sns:us-east-1:123456789012:t"], Tags: [{ Key: "application", Value: "shop" }],
      },
    },
  },
}));
for (const loadNestedStacks of [undefined, { Inner: { templateFile: "inner.json" } }]) {
  const app = new App({ analyticsReporting: false });
  new CfnInclude(new Stack(app, "S"), "T", { templateFile: "template.json", loadNestedStacks });
  console.log(loadNestedStacks ? "loaded:" : "not loaded:", Object.keys(app.synth().getStackByName("S").template.Resources.Inner.Properties).sort().join(" "));
}
JS
npm ls --depth 0 | grep @
seen=$(node run.js 2>/dev/null)
echo "$seen"
[ "$seen" = "not loaded: NotificationARNs Parameters Tags TemplateURL TimeoutInMinutes
loaded: NotificationARNs Parameters TemplateURL TimeoutInMinutes" ]
