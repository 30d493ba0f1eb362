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

	"flashsale/functions/operate/wire"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
)

const (
	// previewed bounds how many dead letters are read when none is deleted.
	previewed = 100
	// previewHide is how long a dead letter stays hidden if it cannot be made visible again at once; dropHide is the
	// same for a run that deletes, which takes at most dropLimit.
	previewHide = 30 * time.Second
	dropLimit   = 10 * time.Minute
	dropHide    = dropLimit + time.Minute
)

func showQueue(ctx context.Context, p *target, _ options, out *terminal) error {
	d, err := p.deadLetters(ctx)
	if err == nil {
		err = d.run(ctx, out)
	}
	if err != nil || len(d.found) == 0 {
		return err
	}
	out.notef("nothing was moved. First fix the cause; then %s moves pending messages back to the order queue; --drop-poison also prints and deletes poison ones.",
		p.flashsale("queue redrive"))
	return nil
}

// redrive has OperateFunction move pending messages back to the order queue and delete those that are done; with
// --drop-poison it deletes poison ones before.
func redrive(ctx context.Context, p *target, o options, out *terminal) error {
	d := &deadLetters{}
	var err error
	if o.has("dry-run") || o.has("drop-poison") {
		if d, err = p.deadLetters(ctx); err != nil {
			return err
		}
	}
	if o.has("dry-run") {
		if err := d.run(ctx, out); err != nil {
			return err
		}
		dropped := ""
		if o.has("drop-poison") {
			dropped = ", and those that are poison"
		}
		fmt.Fprintf(out, "what is pending would be moved back to the order queue, and what is done deleted%s; nothing was moved\n", dropped)
		return nil
	}
	if o.has("drop-poison") {
		if err := out.ask("Delete the messages that no delivery can ever settle? They are printed."); err != nil {
			return err
		}
		d.drop = true
		if err := d.run(ctx, out); err != nil {
			return err
		}
	}
	moved, deleted := int64(0), d.deleted
	for done := false; !done; {
		answer := wire.Repaired{Redriven: &wire.Redriven{}}
		if err := p.post(ctx, "/operate/repairs", "", wire.Repair{Action: wire.Redrive}, &answer); err != nil {
			return err
		}
		moved, deleted, done = moved+answer.Moved, deleted+answer.Deleted, answer.Done
	}
	fmt.Fprintf(out, "%d moved back to the order queue, %d deleted\n", moved, deleted)
	out.notef("watch %s until nothing is pending", p.flashsale("books receipt --all"))
	return nil
}

// deadLetters opens the dead-letter queue, to look only.
func (p *target) deadLetters(ctx context.Context) (*deadLetters, error) {
	book, err := p.ledger(ctx)
	if err != nil {
		return nil, err
	}
	client, queue, err := p.deadLetterQueue(ctx)
	return &deadLetters{client: client, claim: book.Claim, queue: queue, found: map[string]*group{}}, err
}

type deadLetters struct {
	client *sqs.Client
	claim  func(ctx context.Context, saleID, user string) (sale.Claim, error)
	queue  string
	drop   bool // delete poison messages; otherwise look only

	found   map[string]*group // by reason
	deleted int64
}

type group struct {
	count   int
	example string
}

func (d *deadLetters) run(ctx context.Context, out io.Writer) error {
	total, err := d.depth(ctx)
	if err != nil {
		return err
	}
	limit, hide, some := total, dropHide, ""
	if !d.drop {
		limit, hide = min(total, previewed), previewHide
	}
	if limit < total {
		some = fmt.Sprintf(", of which it looks at %d", limit)
	}
	fmt.Fprintf(out, "the dead-letter queue holds about %d messages%s\n", total, some)
	if total == 0 {
		return nil
	}
	err = d.walk(ctx, limit, hide, out)
	// A dead letter may contain anything, so it is quoted.
	for _, why := range slices.Sorted(maps.Keys(d.found)) {
		g := d.found[why]
		fmt.Fprintf(out, "  %4d  %s, for example %.120s\n", g.count, why, strconv.QuoteToASCII(g.example))
	}
	return err
}

func (d *deadLetters) depth(ctx context.Context) (int, error) {
	attributes, err := d.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &d.queue, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
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
func (d *deadLetters) walk(ctx context.Context, limit int, hide time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, dropLimit)
	defer cancel()
	var staying []string
	defer func() {
		for _, handle := range staying {
			_, _ = d.client.ChangeMessageVisibility(context.WithoutCancel(ctx), &sqs.ChangeMessageVisibilityInput{QueueUrl: &d.queue, ReceiptHandle: &handle})
		}
	}()
	for seen := 0; seen < limit; {
		got, err := d.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &d.queue, MaxNumberOfMessages: 10, VisibilityTimeout: int32(hide / time.Second), WaitTimeSeconds: 1,
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
				stays, failure = d.settle(ctx, aws.ToString(m.Body), aws.ToString(m.ReceiptHandle), out)
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
func (d *deadLetters) settle(ctx context.Context, body, handle string, out io.Writer) (stays bool, err error) {
	f, why := orderq.FateOf(ctx, d.claim, body)
	why = string(f) + ": " + why
	g := d.found[why]
	if g == nil {
		g = &group{example: body}
		d.found[why] = g
	}
	g.count++
	if f != orderq.FatePoison || !d.drop {
		return true, nil
	}
	fmt.Fprintf(out, "  deleted: %s: %s\n", why, strconv.QuoteToASCII(body))
	d.deleted++
	if _, err := d.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &d.queue, ReceiptHandle: &handle}); err != nil {
		return true, fmt.Errorf("delete message: %w", err)
	}
	return false, nil
}
