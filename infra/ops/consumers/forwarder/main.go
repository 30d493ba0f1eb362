// Command forwarder is a function that sends every order event of a queue to the back end of a shop by HTTPS, and
// tries for three days. template.yaml has its rule, its queues and its alarms.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/eventwebhook"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	f := &forwarder{
		queueURL: os.Getenv("QUEUE_URL"), deadLetterURL: os.Getenv("DEAD_LETTER_QUEUE_URL"),
		now: time.Now, random: rand.Float64, log: slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: named})),
	}
	if err == nil {
		f.queue = sqs.NewFromConfig(cfg)
		f.receiver, err = eventwebhook.NewReceiver(os.Getenv("RECEIVER_URL"), os.Getenv("WEBHOOK_SECRETS"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "forwarder:", err)
		os.Exit(1)
	}
	lambda.Start(f.handle)
}

// named gives a line the names that the lines of the other functions have.
func named(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.MessageKey {
		a.Key = "message"
	}
	return a
}
