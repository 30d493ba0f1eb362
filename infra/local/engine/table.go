package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/local/template"
)

// ErrOtherKeys: the table exists with keys other than the template's.
var ErrOtherKeys = errors.New("table exists with other keys")

// Tables is the part of a DynamoDB client that EnsureTable needs.
type Tables interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
	UpdateTable(context.Context, *dynamodb.UpdateTableInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateTableOutput, error)
}

// EnsureTable creates the table if it does not exist, gives it the stream that it shall have
// and returns once it is active. A table of that name with other keys gives ErrOtherKeys.
func EnsureTable(ctx context.Context, client Tables, t template.Table) error {
	for {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
		var missing *types.ResourceNotFoundException
		switch {
		case errors.As(err, &missing):
			if err := create(ctx, client, t); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("describe table %s: %w", t.Name, err)
		case !sameKeys(out.Table, t):
			return fmt.Errorf("ensure table %s: %w", t.Name, ErrOtherKeys)
		case out.Table.TableStatus == types.TableStatusActive:
			done, err := ensureStream(ctx, client, t, out.Table.StreamSpecification)
			if done || err != nil {
				return err
			}
			continue
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for table %s: %w", t.Name, ctx.Err())
		}
	}
}

func create(ctx context.Context, client Tables, t template.Table) error {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest}
	for _, a := range t.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.Name), AttributeType: types.ScalarAttributeType(a.Type),
		})
	}
	for _, k := range t.KeySchema {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{
			AttributeName: aws.String(k.Name), KeyType: types.KeyType(k.Type),
		})
	}
	if t.StreamView != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(t.StreamView)}
	}
	_, err := client.CreateTable(ctx, in)
	// Somebody else has just created it: EnsureTable goes on to check that table.
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

func sameKeys(have *types.TableDescription, want template.Table) bool {
	if have == nil || len(have.KeySchema) != len(want.KeySchema) {
		return false
	}
	kinds := map[string]string{}
	for _, a := range have.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	for _, a := range want.AttributeDefinitions {
		if kinds[a.Name] != a.Type {
			return false
		}
	}
	for i, k := range want.KeySchema {
		if aws.ToString(have.KeySchema[i].AttributeName) != k.Name || string(have.KeySchema[i].KeyType) != k.Type {
			return false
		}
	}
	return true
}
