// Package streampoller does what Lambda's event source mapping for a DynamoDB stream does: it
// reads the stream from the oldest record on, drops the records that match no filter,
// and invokes a function with batches of the others until each has succeeded once.
//
// It passes records on as DynamoDB Streams gives them, whose JSON is that of Lambda's events; it
// neither runs functions nor interprets items. How far the stream is done is on disk, written only
// after success. So a record may arrive twice after a crash, and none is left out. Differences from
// AWS: shards are read one after the other, one batch runs at a time, a batch does not wait to fill,
// and one that fails is repeated even when the stream has dropped its records.
package streampoller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flashsale/infra/local/eventpattern"
	"flashsale/infra/local/eventsource"
	"flashsale/infra/local/template"
)

// Config describes one event source mapping whose function reports the records of a batch that
// failed.
type Config struct {
	// Endpoint is the URL of DynamoDB.
	Endpoint string
	// StreamARN is the stream's there, SourceARN the one in the event's records.
	StreamARN, SourceARN string
	Function             string
	// Checkpoint is the path of the file with the progress.
	Checkpoint string
	BatchSize  int
	// Filters are patterns of package eventpattern; a record must match one, if there are any.
	Filters []string
	Log     *slog.Logger
}

// position is a record of a stream.
type position struct {
	Stream string `json:"stream"`
	Shard  string `json:"shard"`
	// After is the record's sequence number; "" is before the first one.
	After string `json:"after"`
}

// Poller connects one stream with one function.
type Poller struct {
	c        Config
	run      eventsource.Invoker
	filters  []*eventpattern.Pattern
	last     position // up to which all is done
	iterator string   // of the records after it; "" if there is none
}

// New compiles the filters and reads the checkpoint. The progress of another stream does not count: the
// table was created anew, or its stream was turned off and on.
func New(c Config, i eventsource.Invoker) (*Poller, error) {
	c.Log = c.Log.With("stream", c.StreamARN, "function", c.Function)
	p := &Poller{c: c, run: i}
	for _, text := range c.Filters {
		f, err := eventpattern.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("configure stream poller: %w", err)
		}
		p.filters = append(p.filters, f)
	}
	if err := os.MkdirAll(filepath.Dir(c.Checkpoint), 0o755); err != nil {
		return nil, fmt.Errorf("open checkpoint: %w", err)
	}
	content, err := os.ReadFile(c.Checkpoint)
	if err == nil {
		err = json.Unmarshal(content, &p.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open checkpoint %s: %w", c.Checkpoint, err)
	}
	if p.last.Stream != c.StreamARN {
		p.last = position{Stream: c.StreamARN}
	}
	return p, nil
}

// pollInterval is Lambda's base rate: four times a second.
const pollInterval = 250 * time.Millisecond

// Run polls until ctx ends, then lets the running invocation finish within the grace
// period and returns nil. It retries a stream that cannot be reached.
func (p *Poller) Run(ctx context.Context) error {
	running := eventsource.NewRunning(ctx)
	running.Go(func() {
		var pause eventsource.Backoff
		for failures := 0; ctx.Err() == nil; {
			page, err := p.page(ctx)
			if err != nil {
				// A connection may be closed under an answer, though nothing is wrong.
				if failures++; failures > 1 && ctx.Err() == nil {
					p.c.Log.Warn("read stream failed", "error", err)
				}
				eventsource.Sleep(ctx, pause.Next())
				continue
			}
			failures = 0
			pause.Reset()
			p.handle(ctx, running.Context, page)
			if len(page) == 0 {
				eventsource.Sleep(ctx, pollInterval)
			}
		}
	})
	<-ctx.Done()
	running.Finish()
	return nil
}

type record struct {
	number string          // its sequence number
	json   json.RawMessage // as Lambda sends it; nil if no filter lets it through
}

func (p *Poller) page(ctx context.Context) ([]record, error) {
	var out struct {
		Records           []map[string]any
		NextShardIterator string
	}
	err := p.seek(ctx)
	if err == nil {
		err = p.call(ctx, "GetRecords", map[string]any{"ShardIterator": p.iterator}, &out)
	}
	if p.iterator = out.NextShardIterator; err != nil {
		return nil, err
	}
	all := make([]record, len(out.Records))
	for i, r := range out.Records {
		if all[i], err = p.record(r); err != nil {
			p.iterator = "" // so that it is read again
			return nil, err
		}
	}
	if p.iterator == "" && len(all) == 0 { // the shard has ended
		next, err := p.shardAfter(ctx, p.last.Shard)
		if err != nil {
			return nil, err
		}
		if next != p.last.Shard {
			p.last.Shard, p.last.After = next, ""
		}
	}
	return all, nil
}

// record makes the record that Lambda sends.
func (p *Poller) record(r map[string]any) (out record, err error) {
	change, _ := r["dynamodb"].(map[string]any)
	if out.number, _ = change["SequenceNumber"].(string); out.number == "" {
		return out, fmt.Errorf("record %v has no sequence number", r["eventID"])
	}
	isLetThrough := func(f *eventpattern.Pattern) bool { return f.Match(r) }
	if len(p.filters) > 0 && !slices.ContainsFunc(p.filters, isLetThrough) {
		return out, nil
	}
	r["awsRegion"], r["eventSourceARN"] = template.Region, p.c.SourceARN
	if at, ok := change["ApproximateCreationDateTime"].(float64); ok {
		change["ApproximateCreationDateTime"] = int64(at)
	}
	out.json, err = json.Marshal(r)
	return out, err
}

// seek gets an iterator of the records after the last one, unless there is one.
func (p *Poller) seek(ctx context.Context) (err error) {
	if p.iterator != "" {
		return nil
	}
	if p.last.Shard == "" {
		if p.last.Shard, err = p.shardAfter(ctx, ""); err != nil {
			return err
		}
	}
	in := map[string]any{"StreamArn": p.c.StreamARN, "ShardId": p.last.Shard, "ShardIteratorType": "TRIM_HORIZON"}
	if p.last.After != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", p.last.After
	}
	var out struct{ ShardIterator string }
	if err := p.call(ctx, "GetShardIterator", in, &out); err != nil {
		if strings.Contains(err.Error(), "TrimmedDataAccessException") {
			p.c.Log.Error("the stream dropped records before they were read: after 24 hours they are gone", "after", p.last)
			p.last.Shard, p.last.After = "", ""
		}
		return err
	}
	p.iterator = out.ShardIterator
	return nil
}

// shardAfter returns the shard that follows another one; that one itself if none does, and the
// oldest one if the stream has dropped it.
func (p *Poller) shardAfter(ctx context.Context, shard string) (string, error) {
	var out struct {
		StreamDescription struct{ Shards []struct{ ShardID string } }
	}
	if err := p.call(ctx, "DescribeStream", map[string]any{"StreamArn": p.c.StreamARN}, &out); err != nil {
		return "", err
	}
	oldest, found := "", false
	for _, s := range out.StreamDescription.Shards {
		if found {
			return s.ShardID, nil
		}
		oldest, found = cmp.Or(oldest, s.ShardID), s.ShardID == shard
	}
	if found {
		return shard, nil
	}
	return oldest, nil
}

// call calls an operation of DynamoDB Streams. An engine on this machine asks for a signature, but does not check it.
func (p *Poller) call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.c.Endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDBStreams_20120810."+operation)
	r.Header.Set("X-Amz-Date", "20260101T000000Z")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", a.StatusCode, answer)
	}
	if err == nil {
		err = json.Unmarshal(answer, out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// handle runs batches of a page until all of it is done, or until ctx ends.
func (p *Poller) handle(ctx, work context.Context, page []record) {
	var pause eventsource.Backoff
	for len(page) > 0 && ctx.Err() == nil {
		n, err := p.batch(work, page)
		if n > 0 {
			p.last.After = page[n-1].number
			pause.Reset()
			p.save()
		}
		if page = page[n:]; err != nil {
			p.c.Log.Warn("records failed and are repeated", "records", len(page), "from", page[0].number, "error", err)
			eventsource.Sleep(ctx, pause.Next())
		}
	}
}

// maxPayload is Lambda's limit for the event of an invocation.
const maxPayload = 6 << 20

// batch invokes the function with the first records of a page that the filters let through, and returns how
// many of the page's records are done with that.
func (p *Poller) batch(ctx context.Context, page []record) (done int, err error) {
	event := struct{ Records []json.RawMessage }{}
	var numbers []string
	size := 0
	for _, r := range page {
		if r.json != nil {
			if size += len(r.json) + 1; len(numbers) == p.c.BatchSize || len(numbers) > 0 && size > maxPayload-100 {
				break
			}
			event.Records, numbers = append(event.Records, r.json), append(numbers, r.number)
		}
		done++
	}
	if len(numbers) == 0 {
		return done, nil
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	failed, err := eventsource.Batch(ctx, p.run, p.c.Function, payload, numbers)
	if err != nil {
		return 0, err
	}
	// Everything from the lowest failed number on is repeated, also what succeeded.
	if i := slices.IndexFunc(page[:done], func(r record) bool { return failed[r.number] }); i >= 0 {
		return i, fmt.Errorf("%d of %d records were reported", len(failed), len(numbers))
	}
	return done, nil
}

// save replaces the checkpoint as a whole, so that a crash leaves the former one or the new one. What cannot
// be saved is read again after a restart.
func (p *Poller) save() {
	content, err := json.Marshal(p.last)
	if err == nil {
		err = os.WriteFile(p.c.Checkpoint+".new", content, 0o644)
	}
	if err == nil {
		err = os.Rename(p.c.Checkpoint+".new", p.c.Checkpoint)
	}
	if err != nil {
		p.c.Log.Error("records will be handled again after a restart", "error", err)
	}
}
