package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
)

const tableCheck = "existing table"

// existingTable checks the table that a deployment uses instead of one of the stack's own.
func (r *report) existingTable(ctx context.Context) {
	table, stream := r.text("ExistingTable"), r.text("ExistingTableStreamArn")
	if table == "" {
		return
	}
	if stream != "" && !strings.Contains(stream, ":table/"+table+"/stream/") {
		r.add(Failed, tableCheck, "ExistingTableStreamArn=%s is the stream of another table than ExistingTable=%s; a restored table has a stream of its own, or none", stream, table)
		return
	}
	for _, name := range []string{"WarmWriteUnitsPerSecond", "MaxWriteRequestUnits"} {
		if v := r.text(name); v != "" && v != "0" {
			r.add(Warning, tableCheck, "%s=%s has no effect on %s: set it with aws dynamodb update-table", name, v, table)
		}
	}
	if r.text("PublishEvents") != "true" {
		stream = ""
	}
	r.unless(r.Lookup.Table(ctx, table, stream), tableCheck, table)
}

// otherTable finds a deployment after which the functions use another table than before.
// While a canary runs, both would sell the same units.
func (r *report) otherTable(ctx context.Context, l Limits) {
	was, will := l.Deployed["ExistingTable"], r.text("ExistingTable")
	if was == will {
		return
	}
	if will != "" {
		r.unless(r.Lookup.Balanced(ctx, will), tableCheck, "the receipts of "+will+" balance")
	}
	kind := r.text("DeploymentType")
	switch {
	case l.Deployed == nil:
	case will == "":
		r.add(Failed, tableCheck, "the stack uses the table %s, and this deployment would give it a new, empty one; set ExistingTable=%s", was, was)
	case kind != "AllAtOnce":
		r.add(Failed, tableCheck, "DeploymentType=%s would sell from two tables at a time; set DeploymentType=AllAtOnce for this deployment", kind)
	default:
		r.add(Warning, tableCheck, "from this deployment on the functions use %s; what the table before it holds is kept, and nobody reads it", will)
	}
}

// recountTime bounds the recount of a table, which reads every item in it.
const recountTime = 20 * time.Minute

// Balanced is Lookup.Balanced. It reads the claims, orders and refunds of every sale, so nothing
// that the table says of itself can stand in for that. Nobody has worked on the table for a
// while, so nothing counts as overdue.
func (a Account) Balanced(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, recountTime)
	defer cancel()
	sales, err := books.Sales(ctx, a.DynamoDB, name)
	if err != nil {
		return fmt.Errorf("list its sales: %w", err)
	}
	for _, s := range sales {
		receipt, err := books.Recount(ctx, a.DynamoDB, name, s.SaleID, books.Options{Overdue: 365 * 24 * time.Hour})
		switch {
		case err != nil:
			return fmt.Errorf("recount sale %s: %w", s.SaleID, err)
		case !receipt.Balanced:
			return fmt.Errorf("sale %s: %v: flashsale table check --table %s", s.SaleID, receipt.Findings[0], name)
		}
	}
	return nil
}

// Table is Lookup.Table. What a restored table lacks is named, because DynamoDB restores
// the items and not the settings.
func (a Account) Table(ctx context.Context, name, stream string) error {
	answer, err := a.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return fmt.Errorf("describe it: %w", err)
	}
	about := answer.Table
	if about == nil {
		return errors.New("describe it: the answer has no table")
	}
	var keys []string
	for _, k := range about.KeySchema {
		keys = append(keys, aws.ToString(k.AttributeName)+" "+string(k.KeyType))
	}
	both := about.StreamSpecification != nil && aws.ToBool(about.StreamSpecification.StreamEnabled) &&
		about.StreamSpecification.StreamViewType == types.StreamViewTypeNewAndOldImages
	switch key := strings.Join(keys, ", "); {
	case key != "pk HASH, sk RANGE":
		return fmt.Errorf("it is no ledger: its key is %s", key)
	case about.TableStatus != types.TableStatusActive && about.TableStatus != types.TableStatusUpdating:
		return fmt.Errorf("it is %s: wait until it is ACTIVE", about.TableStatus)
	case !aws.ToBool(about.DeletionProtectionEnabled):
		return errors.New("it can be deleted: aws dynamodb update-table --table-name NAME --deletion-protection-enabled")
	case stream == "":
		return nil
	case aws.ToString(about.LatestStreamArn) != stream:
		return fmt.Errorf("its stream is %q, not ExistingTableStreamArn=%s", aws.ToString(about.LatestStreamArn), stream)
	case !both:
		return errors.New("its stream is off, or has not both images (NEW_AND_OLD_IMAGES)")
	}
	return nil
}
