// Command mailer is the skeleton of a function that writes to buyers: one e-mail for each
// order event, although events come more than once.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mailer:", err)
		os.Exit(1)
	}
	m := &mailer{db: dynamodb.NewFromConfig(cfg), table: os.Getenv("MAILS_TABLE"), send: show, now: time.Now}
	lambda.Start(m.handle)
}

// show stands for the service that sends e-mails.
func show(_ context.Context, m mail) error { return json.NewEncoder(os.Stdout).Encode(m) }
