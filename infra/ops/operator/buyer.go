package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// buyer prints what happened to one buyer's order and what support may tell the buyer.
func buyer(ctx context.Context, p *place, o options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	with, _, err := p.operator(ctx)
	var told story
	if err == nil {
		err = read(ctx, with, "/operate/sales/{saleId}/buyers/{user}", map[string]string{"saleId": o["sale"], "user": o["user"]}, nil, &told)
	}
	if err != nil {
		return errors.New(oneLine(err))
	}
	told.print(out, func() string { return p.whyPending(ctx, o["sale"], told.ClaimID) })
	return nil
}

// story is what happened to one buyer's order, as OperateFunction tells it.
type story struct {
	State   string `json:"state"`
	ClaimID string `json:"claimId"` // "" if the buyer has none
	Lines   []struct {
		At   time.Time `json:"at"` // zero: it is so now
		Text string    `json:"text"`
	} `json:"lines"`
	ForBuyer string `json:"forBuyer"`
}

// print writes a line for each event, and then what support may tell the buyer. The last line about
// a claim that is pending gets the reason.
func (s story) print(out io.Writer, whyPending func() string) {
	for i, l := range s.Lines {
		text := l.Text
		if i == len(s.Lines)-1 && s.State == string(sale.Pending) {
			text += ": " + whyPending()
		}
		switch {
		case !l.At.IsZero():
			text = httpapi.Time(l.At) + "  " + text
		case s.ClaimID != "":
			text = fmt.Sprintf("%-24s  %s", "now", text)
		}
		fmt.Fprintln(out, text)
	}
	fmt.Fprintf(out, "for the buyer: %s\n", s.ForBuyer)
}

// whyPending says where the claim's message is, as far as the queues show.
func (p *place) whyPending(ctx context.Context, saleID, claimID string) string {
	repair := fmt.Sprintf("reconcile sends its message again, `make resend SALE=%s` at once", saleID)
	queues, source, _, err := p.queues(ctx)
	if err != nil {
		return repair
	}
	depth, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &source, AttributeNames: []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}})
	if err != nil {
		return repair
	}
	return fmt.Sprintf("the order queue has %s messages waiting and %s being processed; %s",
		depth.Attributes["ApproximateNumberOfMessages"], depth.Attributes["ApproximateNumberOfMessagesNotVisible"], repair)
}
