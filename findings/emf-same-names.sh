#!/bin/bash
# CloudWatch's embedded metric format has metrics, dimensions and properties side by side, as members of one object, so that a name
# has one value in a line. What do AWS's two writers for Node make of a name that is given twice?
#
# One would guess: both refuse it, as each refuses NaN, a bad dimension or a second unit; or each meaning gets a line of its own.
# It is so: @aws-lambda-powertools/metrics throws or warns. aws-embedded-metrics writes all of it without a word:
# - A metric with the name of a dimension takes the dimension's value: a number, where the format has texts only.
# - Two sets of dimensions, given with values of their own, share the last one: what was counted for checkout's "ok" is counted for cart's.
# - A value in another unit keeps the first one: two seconds are two milliseconds. A second resolution throws, though.
# - And NaN, which aws-embedded-metrics refuses, Powertools writes as null.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error aws-embedded-metrics@4.2.1 @aws-lambda-powertools/metrics@2.36.0 >/dev/null
cat >run.js <<'JS'
const { MetricsContext } = require("aws-embedded-metrics/lib/logger/MetricsContext");
const { LogSerializer } = require("aws-embedded-metrics/lib/serializers/LogSerializer");
const { Metrics } = require("@aws-lambda-powertools/metrics");
console.warn = text => console.log("  warns:", text);
const show = ({ _aws: { CloudWatchMetrics: [{ Dimensions, Metrics }] }, ...values }) => JSON.stringify([Dimensions, Metrics, values]);
const embedded = fill => { const c = MetricsContext.empty(); fill(c); return show(JSON.parse(new LogSerializer().serialize(c)[0])); };
const powertools = fill => { const m = new Metrics({ namespace: "shop", serviceName: "shop" }); fill(m); return show(m.serializeMetrics()); };
const write = (name, by, fill) => { try { console.log(name, by(fill)); } catch (e) { console.log(name, "throws", e.message); } };
write("embedded, dimension:", embedded, m => { m.putDimensions({ result: "ok" }); m.putMetric("result", 1, "Count"); });
write("powertools, dimension:", powertools, m => { m.addDimension("result", "ok"); m.addMetric("result", "Count", 1); });
write("embedded, sets:", embedded, m => { m.setDimensions([{ page: "checkout", result: "ok" }, { page: "cart" }], false); m.putMetric("n", 1, "Count"); });
write("powertools, sets:", powertools, m => { m.addDimensions({ page: "checkout", result: "ok" }); m.addDimensions({ page: "cart" }); m.addMetric("n", "Count", 1); });
write("embedded, units:", embedded, m => { m.putMetric("took", 3, "Milliseconds"); m.putMetric("took", 2, "Seconds"); });
write("powertools, units:", powertools, m => { m.addMetric("took", "Milliseconds", 3); m.addMetric("took", "Seconds", 2); });
write("embedded, resolutions:", embedded, m => { m.putMetric("n", 1, "Count", 1); m.putMetric("n", 1, "Count", 60); });
write("embedded, NaN:", embedded, m => m.putMetric("n", NaN, "Count"));
write("powertools, NaN:", powertools, m => m.addMetric("n", "Count", NaN));
JS
npm ls --depth 0 | grep @
node run.js 2>&1 | tee said
diff said - <<'SEEN'
embedded, dimension: [[["result"]],[{"Name":"result","Unit":"Count"}],{"result":1}]
powertools, dimension: throws EMF key collision on "result": registered as both a metric (number) and a dimension (string)
embedded, sets: [[["page","result"],["page"]],[{"Name":"n","Unit":"Count"}],{"page":"cart","result":"ok","n":1}]
EMF key "page" is defined as both a dimension set and dimension set; the dimension set value will take precedence in the serialized output
powertools, sets: [[["service","page","result"],["service","page"]],[{"Name":"n","Unit":"Count"}],{"service":"shop","page":"cart","result":"ok","n":1}]
embedded, units: [[],[{"Name":"took","Unit":"Milliseconds"}],{"took":[3,2]}]
powertools, units: throws Metric "took" has already been added with unit "Milliseconds", but we received unit "Seconds". Did you mean to use metric unit "Milliseconds"?
embedded, resolutions: throws Resolution for metrics n is already set. A single log event cannot have a metric with two different resolutions.
embedded, NaN: throws Metric value NaN is not a number
powertools, NaN: [[["service"]],[{"Name":"n","Unit":"Count"}],{"service":"shop","n":null}]
SEEN
