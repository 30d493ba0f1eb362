package operator

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

const (
	// previewed bounds how many dead letters are read when none is moved.
	previewed = 100
	// previewHide is how long a dead letter stays hidden if it cannot be made visible
	// again at once; moveHide is the same for a run that moves or deletes, which takes
	// at most moveLimit.
	previewHide = 30 * time.Second
	moveLimit   = 10 * time.Minute
	moveHide    = moveLimit + time.Minute
)

type claims interface {
	Claim(ctx context.Context, saleID, user string) (sale.Claim, error)
}

func showQueue(ctx context.Context, p *place, _ options, out *terminal) error {
	r, _, err := p.deadLetters(ctx)
	if err != nil {
		return err
	}
	if err := r.run(ctx, out); err != nil || len(r.found) == 0 {
		return err
	}
	out.notef("nothing was moved. First fix the cause; then %s moves pending messages back to the order queue; --drop-poison also prints and deletes poison ones.",
		p.flashsale("queue redrive"))
	return nil
}

// redrive moves pending messages back to the order queue and deletes those that are done; with --drop-poison it
// deletes poison ones, too.
func redrive(ctx context.Context, p *place, o options, out *terminal) error {
	r, source, err := p.deadLetters(ctx)
	if err != nil {
		return err
	}
	if o.has("dry-run") {
		if err := r.run(ctx, out); err != nil {
			return err
		}
		dropped := ""
		if o.has("drop-poison") {
			dropped = ", and those that are poison"
		}
		fmt.Fprintf(out, "what is pending would be moved back to the order queue, and what is done deleted%s; nothing was moved\n", dropped)
		return nil
	}
	if r.source = source; o.has("drop-poison") {
		if err := out.ask("Delete the messages that no delivery can ever settle? They are printed."); err != nil {
			return err
		}
		r.drop = true
	}
	if err := r.run(ctx, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d moved back to the order queue, %d deleted\n", r.moved, r.deleted)
	out.notef("watch %s until nothing is pending", p.flashsale("books receipt --all"))
	return nil
}

// deadLetters opens the dead-letter queue, to look only, and names the order queue.
func (p *place) deadLetters(ctx context.Context) (r *redriving, source string, err error) {
	book, err := p.ledger(ctx)
	if err != nil {
		return nil, "", err
	}
	client, source, deadLetters, err := p.queues(ctx)
	return &redriving{client: client, book: book, deadLetters: deadLetters, found: map[string]*group{}}, source, err
}

type redriving struct {
	client      *sqs.Client
	book        claims
	deadLetters string
	source      string // order queue for pending messages; empty: look only
	drop        bool   // delete poison messages, too

	found          map[string]*group // by reason
	moved, deleted int
}

type group struct {
	count   int
	example string
}

func (r *redriving) run(ctx context.Context, out io.Writer) error {
	total, err := r.depth(ctx)
	if err != nil {
		return err
	}
	limit, hide, some := total, moveHide, ""
	if r.source == "" {
		limit, hide = min(total, previewed), previewHide
	}
	if limit < total {
		some = fmt.Sprintf(", of which it looks at %d", limit)
	}
	fmt.Fprintf(out, "the dead-letter queue holds about %d messages%s\n", total, some)
	if total == 0 {
		return nil
	}
	err = r.walk(ctx, limit, hide, out)
	// A dead letter may contain anything, so it is quoted.
	for _, why := range slices.Sorted(maps.Keys(r.found)) {
		g := r.found[why]
		fmt.Fprintf(out, "  %4d  %s, for example %.120s\n", g.count, why, strconv.QuoteToASCII(g.example))
	}
	return err
}

func (r *redriving) depth(ctx context.Context) (int, error) {
	attributes, err := r.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &r.deadLetters, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	n := 0
	if err == nil {
		n, err = strconv.Atoi(attributes.Attributes["ApproximateNumberOfMessages"])
	}
	if err != nil {
		return 0, fmt.Errorf("read dead-letter queue: %w", err)
	}
	return n, nil
}

// walk settles up to limit messages once, hiding each meanwhile, and makes those that stay
// visible again. If that fails, they reappear after their visibility timeout.
func (r *redriving) walk(ctx context.Context, limit int, hide time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, moveLimit)
	defer cancel()
	var staying []string
	defer func() {
		for _, handle := range staying {
			_, _ = r.client.ChangeMessageVisibility(context.WithoutCancel(ctx), &sqs.ChangeMessageVisibilityInput{QueueUrl: &r.deadLetters, ReceiptHandle: &handle})
		}
	}()
	for seen := 0; seen < limit; {
		got, err := r.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &r.deadLetters, MaxNumberOfMessages: 10, VisibilityTimeout: int32(hide / time.Second), WaitTimeSeconds: 1,
		})
		if err != nil {
			return fmt.Errorf("read dead-letter queue: %w", err)
		}
		if len(got.Messages) == 0 {
			return nil
		}
		seen += len(got.Messages)
		var failure error
		for _, m := range got.Messages { // after a failure the others stay
			stays := true
			if failure == nil {
				stays, failure = r.settle(ctx, aws.ToString(m.Body), aws.ToString(m.ReceiptHandle), out)
			}
			if stays {
				staying = append(staying, aws.ToString(m.ReceiptHandle))
			}
		}
		if failure != nil {
			return failure
		}
	}
	return nil
}

// settle handles one message by its fate and reports whether it stays in the queue.
func (r *redriving) settle(ctx context.Context, body, handle string, out io.Writer) (stays bool, err error) {
	f, why := orderq.FateOf(ctx, r.book.Claim, body)
	why = string(f) + ": " + why
	g := r.found[why]
	if g == nil {
		g = &group{example: body}
		r.found[why] = g
	}
	g.count++
	switch {
	case f == orderq.FatePending && r.source != "":
		// Send before deleting: if the program stops in between, finalizing the message
		// twice changes nothing (P9).
		if _, err := r.client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &r.source, MessageBody: &body}); err != nil {
			return true, fmt.Errorf("move message: %w", err)
		}
		r.moved++
	case f == orderq.FateDone && r.source != "":
		r.deleted++
	case f == orderq.FatePoison && r.drop:
		fmt.Fprintf(out, "  deleted: %s: %s\n", why, strconv.QuoteToASCII(body))
		r.deleted++
	default:
		return true, nil
	}
	if _, err := r.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &r.deadLetters, ReceiptHandle: &handle}); err != nil {
		return true, fmt.Errorf("delete message: %w", err)
	}
	return false, nil
}
