// Package eventpattern reads the filters of a Lambda event source mapping for a DynamoDB
// stream, and tells which records match them.
//
// It has EventBridge's rules for event patterns, as far as Lambda applies them to DynamoDB
// and this project may use them: equality, prefix and exists, below the key dynamodb. Compile
// refuses everything else, so that no filter means one thing here and another on AWS. It
// does not depend on where records come from.
package eventpattern
