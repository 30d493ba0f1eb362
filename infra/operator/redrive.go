package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"sort"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

const (
	// previewed bounds how many dead letters are looked at; previewHide is how
	// long one stays hidden if it cannot be put back at once.
	previewed   = 100
	previewHide = 30 * time.Second
	// moveLimit bounds how long a redrive is watched; the move itself goes on.
	moveLimit = 10 * time.Minute
)

// claims is what a preview needs of the ledger.
type claims interface {
	Claim(ctx context.Context, saleID, user string) (sale.Claim, error)
}

// redrive shows what lies in the dead-letter queue and why, and with -go moves
// it back to the order queue.
func redrive(ctx context.Context, p place, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("redrive", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	move := flags.Bool("go", false, "")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	book, err := p.ledger(ctx)
	if err != nil {
		return err
	}
	client, source, deadLetters, err := p.queues(ctx)
	if err != nil {
		return err
	}
	total, err := preview(ctx, client, deadLetters, book, out)
	if err != nil || total == 0 {
		return err
	}
	if !*move {
		fmt.Fprintln(out, "nothing was moved; add GO=1 (-go) to move all of it back to the order queue.\n"+
			"What is poison comes back here; what is only pending gets its order id.")
		return nil
	}
	return moveBack(ctx, client, deadLetters, source, out)
}

// preview groups the dead letters by why they are there.
func preview(ctx context.Context, client *sqs.Client, deadLetters string, book claims, out io.Writer) (int, error) {
	attributes, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &deadLetters, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	if err != nil {
		return 0, fmt.Errorf("look at dead-letter queue: %w", err)
	}
	total, err := strconv.Atoi(attributes.Attributes["ApproximateNumberOfMessages"])
	if err != nil {
		return 0, fmt.Errorf("look at dead-letter queue: %w", err)
	}
	fmt.Fprintf(out, "the dead-letter queue holds about %d messages\n", total)
	reasons, example := map[string]int{}, map[string]string{}
	var handles []*string
	defer func() { putBack(context.WithoutCancel(ctx), client, deadLetters, handles) }()
	for seen := 0; seen < min(total, previewed); {
		got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &deadLetters, MaxNumberOfMessages: 10, VisibilityTimeout: int32(previewHide / time.Second), WaitTimeSeconds: 1,
		})
		if err != nil {
			return 0, fmt.Errorf("look at dead-letter queue: %w", err)
		}
		if len(got.Messages) == 0 {
			break
		}
		for _, m := range got.Messages {
			handles = append(handles, m.ReceiptHandle)
			why := reason(ctx, book, aws.ToString(m.Body))
			reasons[why]++
			if example[why] == "" {
				example[why] = aws.ToString(m.Body)
			}
			seen++
		}
	}
	order := make([]string, 0, len(reasons))
	for why := range reasons {
		order = append(order, why)
	}
	sort.Strings(order)
	for _, why := range order {
		text, err := json.Marshal(example[why]) // quoted: a dead letter may hold anything
		if err != nil {
			return 0, fmt.Errorf("show dead letter: %w", err)
		}
		fmt.Fprintf(out, "  %4d  %s, for example %.120s\n", reasons[why], why, text)
	}
	return total, nil
}

// putBack makes messages visible again that were only looked at. If it fails
// they come back by themselves after previewHide.
func putBack(ctx context.Context, client *sqs.Client, url string, handles []*string) {
	for _, handle := range handles {
		_, _ = client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle})
	}
}

// reason says why finalize gave a message up, as far as message and table tell.
func reason(ctx context.Context, book claims, body string) string {
	m, err := orderq.Decode(body)
	if err != nil {
		return "poison: no order message"
	}
	c, err := book.Claim(ctx, m.SaleID, m.User)
	switch {
	case sale.CodeOf(err) == sale.SaleNotFound:
		return "poison: no such sale"
	case sale.CodeOf(err) == sale.OrderNotFound:
		return "poison: no such claim"
	case err != nil:
		return "unknown: the table does not answer"
	case c.ID != m.ClaimID:
		return "poison: the buyer holds another claim"
	case c.State() == sale.Confirmed:
		return "done meanwhile: the order is confirmed"
	}
	return "pending: moving it back finalizes it"
}

func moveBack(ctx context.Context, client *sqs.Client, deadLetters, source string, out io.Writer) error {
	from, err := arn(ctx, client, deadLetters)
	if err != nil {
		return err
	}
	to, err := arn(ctx, client, source)
	if err != nil {
		return err
	}
	if _, err := client.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &from, DestinationArn: &to}); err != nil {
		return fmt.Errorf("start redrive: %w", err)
	}
	for end := time.Now().Add(moveLimit); time.Now().Before(end); {
		tasks, err := client.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &from, MaxResults: aws.Int32(1)})
		if err != nil {
			return fmt.Errorf("watch redrive: %w", err)
		}
		if len(tasks.Results) == 1 {
			task := tasks.Results[0]
			fmt.Fprintf(out, "  %s: %d moved\n", aws.ToString(task.Status), task.ApproximateNumberOfMessagesMoved)
			switch aws.ToString(task.Status) {
			case "COMPLETED":
				return nil
			case "FAILED", "CANCELLED":
				return fmt.Errorf("redrive: %s %s", aws.ToString(task.Status), aws.ToString(task.FailureReason))
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "the redrive goes on by itself")
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func arn(ctx context.Context, client *sqs.Client, url string) (string, error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", fmt.Errorf("read queue ARN: %w", err)
	}
	return out.Attributes[string(types.QueueAttributeNameQueueArn)], nil
}
