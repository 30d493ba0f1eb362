package engine

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/local/template"
)

// What dynoxide 1.2.1 does with streams, found by experiment:
//
//   - It serves ListStreams, DescribeStream, GetShardIterator and GetRecords. A table has one
//     shard, which never ends. Its EndingSequenceNumber is wrong and must not be read.
//   - Sequence numbers are 1, 2, 3, … of each table, in the order of the commits, and the
//     eventID is the same number. A record is in the file with its write: after kill -9 there is
//     neither one without the other, and the numbers go on.
//   - Images and keys are as on AWS, but a write that changes nothing also has a record, a
//     MODIFY of two equal images; DynamoDB has none. A delete of no item, a condition check, a
//     refused write and a repeated transaction have none. The writes of a transaction stand
//     together, in the order of its actions; PartiQL and batches have records, too.
//   - GetRecords returns up to 1,000 records. An iterator never expires, and one after any
//     number is accepted: there is no TrimmedDataAccessException.
//   - It never deletes a record, not even with the table, and reads all of them for each write:
//     see streamfile.mjs.
//   - UpdateTable turns a stream on and off. Turned on again, even when it is on already, the
//     stream has a new label and still the records of its predecessor.

// ensureStream gives an active table the stream that it shall have, or none, and reports
// whether it has it already. Like DynamoDB, a change of the view takes two steps.
func ensureStream(ctx context.Context, client *dynamodb.Client, t template.Table, have *types.StreamSpecification) (done bool, err error) {
	on := have != nil && aws.ToBool(have.StreamEnabled)
	if on == (t.StreamView != "") && (!on || string(have.StreamViewType) == t.StreamView) {
		return true, nil
	}
	change := &types.StreamSpecification{StreamEnabled: aws.Bool(!on)}
	if !on {
		change.StreamViewType = types.StreamViewType(t.StreamView)
	}
	if _, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &t.Name, StreamSpecification: change}); err != nil {
		return false, fmt.Errorf("change the stream of table %s (an engine that cannot do this needs a new table: another data folder): %w", t.Name, err)
	}
	return false, nil
}

// Stream returns the ARN by which the engine knows a table's stream.
func Stream(ctx context.Context, client *dynamodb.Client, table string) (string, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return "", fmt.Errorf("describe table %s: %w", table, err)
	}
	if aws.ToString(out.Table.LatestStreamArn) == "" {
		return "", fmt.Errorf("table %s has no stream", table)
	}
	return *out.Table.LatestStreamArn, nil
}
