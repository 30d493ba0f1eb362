#!/bin/bash
# Conditions of a CloudFormation template in Go, by awslabs' goformation. Its README lists Fn::If, Fn::Not and Fn::And
# among what is supported, and says that what is not, as Fn::GetAtt, is nil.
#
# One would guess: with the parameters' defaults a condition is true or false, and !If is the one value or the other; at least an error says so if not.
# It is so:
# - Open and ParseYAML leave conditions alone, and then !If is nothing: the property is missing, as if the template did not name it, a tag is
#   empty, and what is written back is another template. Without conditions, Ref and FindInMap are resolved.
# - With EvaluateConditions, which the README does not have, !If is resolved. But a condition that builds on another, such as !Not, is now known and
#   now not, from one reading of the same text to the next: they are evaluated in the order of a Go map. If it is not, the property is missing again.
# - With it, a resource that has a Condition makes the whole template an error: "cannot unmarshal bool", because the resource is replaced by
#   the condition's value.
#
# Needs Go 1.24 or newer, and the module proxy.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export CGO_ENABLED=0 GOFLAGS=-mod=mod
go mod init try >/dev/null 2>&1
go get github.com/awslabs/goformation/v7@v7.14.9 >/dev/null 2>&1
cat >main.go <<'EOF2'
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awslabs/goformation/v7"
	"github.com/awslabs/goformation/v7/intrinsics"
)

const template = `
Parameters:
  Large: { Type: String, Default: "yes" }
  Delay: { Type: Number, Default: 7 }
Conditions:
  IsLarge: !Equals [!Ref Large, "yes"]
  IsSmall: !Not [!Condition IsLarge]
Resources:
  Delayed: { Type: "AWS::SQS::Queue", Properties: { DelaySeconds: !Ref Delay } }
  Large: { Type: "AWS::SQS::Queue", Properties: { DelaySeconds: !If [IsLarge, 5, 6] } }
  Small: { Type: "AWS::SQS::Queue", Properties: { DelaySeconds: !If [IsSmall, 5, 6] } }
  Tagged: { Type: "AWS::SQS::Queue", Properties: { Tags: [!If [IsLarge, { Key: a, Value: b }, { Key: c, Value: d }]] } }
`

// read are the properties of the resources.
func read(template string, options *intrinsics.ProcessorOptions) string {
	t, err := goformation.ParseYAMLWithOptions([]byte(template), options)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, name := range []string{"Delayed", "Large", "Small", "Tagged"} {
		text, err := json.Marshal(t.Resources[name])
		if err != nil {
			panic(err)
		}
		_, properties, _ := strings.Cut(string(text), `"Properties":`)
		all = append(all, name+" "+strings.TrimSuffix(properties, "}"))
	}
	return strings.Join(all, ", ")
}

func main() {
	evaluated := &intrinsics.ProcessorOptions{EvaluateConditions: true}
	fmt.Println("preset:", read(template, nil))
	results := map[string]bool{}
	for range 500 {
		results[read(template, evaluated)] = true
	}
	for _, result := range slices.Sorted(maps.Keys(results)) {
		fmt.Println("EvaluateConditions, one of 500 readings:", result)
	}
	fmt.Println("EvaluateConditions, with a resource on a condition:", read(template+"  Some: { Type: \"AWS::SQS::Queue\", Condition: IsLarge }\n", evaluated))
}
EOF2
go list -m github.com/awslabs/goformation/v7
go run . | tee said
diff said - <<'EOF2'
preset: Delayed {"DelaySeconds":7}, Large {}, Small {}, Tagged {"Tags":[{}]}
EvaluateConditions, one of 500 readings: Delayed {"DelaySeconds":7}, Large {"DelaySeconds":5}, Small {"DelaySeconds":6}, Tagged {"Tags":[{"Key":"a","Value":"b"}]}
EvaluateConditions, one of 500 readings: Delayed {"DelaySeconds":7}, Large {"DelaySeconds":5}, Small {}, Tagged {"Tags":[{"Key":"a","Value":"b"}]}
EvaluateConditions, with a resource on a condition: json: cannot unmarshal bool into Go struct field Template.Resources of type cloudformation.rType
EOF2
