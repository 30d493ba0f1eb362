package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables checks a table that exists before the deployment, by its name. The stream is empty
// if nobody reads it.
type Tables interface {
	Check(ctx context.Context, table, stream string) error
}

// existingTable checks the table that a deployment uses instead of one of the stack's own.
func existingTable(ctx context.Context, r *report, d Deployment) {
	const check = "existing table"
	table, stream := value(d.Demand, "ExistingTable"), value(d.Demand, "ExistingTableStreamArn")
	events := value(d.Demand, "PublishEvents") == "true"
	if table == "" {
		if stream != "" {
			r.add(Warning, check, "ExistingTableStreamArn is unused without ExistingTable")
		}
		return
	}
	if stream != "" && !strings.Contains(stream, ":table/"+table+"/stream/") {
		r.add(Failed, check, "ExistingTableStreamArn=%s is the stream of another table than ExistingTable=%s; a restored table has a stream of its own, or none", stream, table)
		return
	}
	for _, name := range []string{"WarmWriteUnitsPerSecond", "MaxWriteRequestUnits"} {
		if v := value(d.Demand, name); v != "" && v != "0" {
			r.add(Warning, check, "%s=%s has no effect on %s: set it with aws dynamodb update-table", name, v, table)
		}
	}
	if d.Tables == nil {
		r.add(Warning, check, "%s was not checked", table)
		return
	}
	if !events {
		stream = ""
	}
	err := d.Tables.Check(ctx, table, stream)
	r.check(err == nil, check, "%s%s", table, text(err))
}

// otherTable finds a deployment after which the functions use another table than before.
// While a canary runs, both would sell the same units.
func otherTable(r *report, d Deployment, l Limits) {
	const check = "existing table"
	was, will := l.Parameters["ExistingTable"], value(d.Demand, "ExistingTable")
	if l.Status == "" || was == will {
		return
	}
	if will == "" {
		r.add(Failed, check, "the stack uses the table %s, and this deployment would give it a new, empty one; set ExistingTable=%s", was, was)
		return
	}
	if kind := value(d.Demand, "DeploymentType"); kind != "AllAtOnce" {
		r.add(Failed, check, "DeploymentType=%s would sell from two tables at a time; set DeploymentType=AllAtOnce for this deployment", kind)
		return
	}
	r.add(Warning, check, "from this deployment on the functions use %s; what the table before it holds is kept, and nobody reads it", will)
}

// DynamoDB checks tables of an account and region.
type DynamoDB struct{ Client *dynamodb.Client }

// Check implements Tables. What a restored table lacks is named, because DynamoDB restores
// the items and not the settings.
func (c DynamoDB) Check(ctx context.Context, name, stream string) error {
	answer, err := c.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return fmt.Errorf("describe it: %w", err)
	}
	t := answer.Table
	if t == nil {
		return errors.New("describe it: the answer has no table")
	}
	var keys []string
	for _, k := range t.KeySchema {
		keys = append(keys, aws.ToString(k.AttributeName)+" "+string(k.KeyType))
	}
	if got := strings.Join(keys, ", "); got != "pk HASH, sk RANGE" {
		return fmt.Errorf("it is no ledger: its key is %s", got)
	}
	switch {
	case t.TableStatus != types.TableStatusActive && t.TableStatus != types.TableStatusUpdating:
		return fmt.Errorf("it is %s: wait until it is ACTIVE", t.TableStatus)
	case !aws.ToBool(t.DeletionProtectionEnabled):
		return errors.New("it can be deleted: aws dynamodb update-table --table-name NAME --deletion-protection-enabled")
	case stream == "":
		return nil
	case aws.ToString(t.LatestStreamArn) != stream:
		return fmt.Errorf("its stream is %q, not ExistingTableStreamArn=%s", aws.ToString(t.LatestStreamArn), stream)
	case t.StreamSpecification == nil || !aws.ToBool(t.StreamSpecification.StreamEnabled) || t.StreamSpecification.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return errors.New("its stream is off, or has not both images (NEW_AND_OLD_IMAGES)")
	}
	return nil
}
