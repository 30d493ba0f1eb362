// Command mailer is the skeleton of a function that writes to buyers: one e-mail for each
// order event, although events come more than once.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
	_ "time/tzdata" // Lambda's image has no list of zones

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
	zone, err := time.LoadLocation(os.Getenv("TIME_ZONE")) // such as Asia/Shanghai; UTC without one
	if err != nil {
		fmt.Fprintln(os.Stderr, "mailer:", err)
		os.Exit(1)
	}
	m := &mailer{
		db: dynamodb.NewFromConfig(cfg), table: os.Getenv("MAILS_TABLE"), language: everybodys, zone: zone, send: show, now: time.Now,
	}
	lambda.Start(m.handle)
}

// everybodys stands for the shop's list of its users: it gives all of them the language of the shop.
func everybodys(context.Context, string) (tag string, err error) {
	return os.Getenv("MAIL_LANGUAGE"), nil
}

// show stands for the service that sends e-mails.
func show(_ context.Context, m mail) error { return json.NewEncoder(os.Stdout).Encode(m) }
