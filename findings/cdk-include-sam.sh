#!/bin/bash
# CfnInclude of the CDK, which is said to take templates of SAM, and what SAM allows in them.
# One would guess: what `sam deploy` takes is included as it stands, because CloudFormation does SAM's work later.
# It is so: a plain function is included and comes out unchanged. Refused are
# - !Ref Function.Alias, the way that SAM documents to name what it makes, and DependsOn of what it makes;
# - an alarm of the function in its DeploymentPreference, which is a cycle only without the alias that SAM puts between;
# - EventInvokeConfig with OnFailure but no OnSuccess ("required but missing").
# What SAM's translator makes of such a template is included, and a nested stack (CfnStack) takes it as it is.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error aws-cdk-lib@2.276.0 constructs@10.8.1 >/dev/null
cat >run.js <<'JS'
import { App, Stack } from "aws-cdk-lib";
import { CfnInclude } from "aws-cdk-lib/cloudformation-include";
import { writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
const code = { Runtime: "nodejs22.x", Handler: "index.handler", CodeUri: "s3://bucket/code", AutoPublishAlias: "live" };
const made = (properties, resources = {}, outputs = {}) => ({
  Transform: "AWS::Serverless-2016-10-31", Outputs: outputs,
  Resources: { F: { Type: "AWS::Serverless::Function", Properties: { ...code, ...properties } }, ...resources },
});
const alarm = {
  Namespace: "AWS/Lambda", MetricName: "Errors", Dimensions: [{ Name: "FunctionName", Value: { Ref: "F" } }], Statistic: "Sum", Period: 60,
  ComparisonOperator: "GreaterThanThreshold", Threshold: 0, EvaluationPeriods: 1,
};
const templates = {
  plain: made({ DeploymentPreference: { Type: "AllAtOnce" } }),
  alias: made({}, {}, { Alias: { Value: { Ref: "F.Alias" } } }),
  dependsOn: made({ Events: { Get: { Type: "HttpApi" } } }, { T: { Type: "AWS::SNS::Topic", DependsOn: "ServerlessHttpApiApiGatewayDefaultStage" } }),
  alarm: made({ DeploymentPreference: { Type: "Canary10Percent5Minutes", Alarms: [{ Ref: "A" }] } }, { A: { Type: "AWS::CloudWatch::Alarm", Properties: alarm } }),
  onFailure: made({ EventInvokeConfig: { DestinationConfig: { OnFailure: { Type: "SQS", Destination: "arn:aws:sqs:us-east-1:123456789012:failed" } } } }),
};
for (const [name, template] of Object.entries(templates)) {
  writeFileSync("template.json", JSON.stringify(template));
  try {
    const app = new App({ analyticsReporting: false });
    new CfnInclude(new Stack(app, "S"), "T", { templateFile: "template.json" });
    const out = app.synth().getStackByName("S").template;
    console.log(`${name}: included, ${isDeepStrictEqual(out.Resources, template.Resources) ? "unchanged" : "changed"}`);
  } catch (error) {
    console.log(`${name}: ${error.message.split("\n").at(-1).trim()}`);
  }
}
JS
npm ls --depth 0 | grep @
seen=$(node run.js 2>/dev/null)
echo "$seen"
[ "$seen" = "plain: included, unchanged
alias: Element used in Ref expression with logical ID: 'F.Alias' not found
dependsOn: Resource 'T' depends on 'ServerlessHttpApiApiGatewayDefaultStage' that doesn't exist
alarm: Found a cycle between resources in the template: F depends on A depends on F
onFailure: onSuccess: required but missing." ]
