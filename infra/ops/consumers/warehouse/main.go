// Command warehouse keeps the state of every order in a table of its own, from order events
// that come in any order and more than once, and exports the orders:
//
//	ORDERS_TABLE=… warehouse export >orders.csv
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err == nil {
		w := &warehouse{db: dynamodb.NewFromConfig(cfg), table: os.Getenv("ORDERS_TABLE")}
		if len(os.Args) < 2 || os.Args[1] != "export" {
			lambda.Start(w.handle)
			return
		}
		err = w.export(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "warehouse:", err)
		os.Exit(1)
	}
}
