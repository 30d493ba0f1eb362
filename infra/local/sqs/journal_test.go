package sqs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/sqs"
)

// crashed is a copy of a folder, as it would be found if the server that has it
// were killed now.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	data, err := os.ReadFile(filepath.Join(dir, sqs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied, sqs.JournalName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestEverythingAnsweredSurvivesACrash(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir, Now: clock.Now})
	dead := f.queue("dead")
	url := f.queue("q", "VisibilityTimeout", "100", "RedrivePolicy", `{"deadLetterTargetArn":"`+f.arn(dead)+`","maxReceiveCount":3}`)
	if _, err := f.client.TagQueue(t.Context(), &awssqs.TagQueueInput{QueueUrl: &url, Tags: map[string]string{"k": "v"}}); err != nil {
		t.Fatal(err)
	}
	gone := f.queue("gone")
	f.send(gone, "b")
	if _, err := f.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &gone}); err != nil {
		t.Fatal(err)
	}
	f.send(url, "deleted")
	f.delete(url, f.one(url).ReceiptHandle)
	f.send(url, "held")
	held := f.one(url)
	if err := f.changeVisibility(url, held.ReceiptHandle, 500); err != nil {
		t.Fatal(err)
	}
	f.send(url, "shown again")
	if err := f.changeVisibility(url, f.one(url).ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("delayed"), DelaySeconds: 50}); err != nil {
		t.Fatal(err)
	}

	again := open(t, sqs.Options{Dir: crashed(t, dir), Now: clock.Now})
	url2 := again.url + "/000000000000/q"
	if diff := cmp.Diff(f.attributes(url), again.attributes(url2)); diff != "" {
		t.Errorf("attributes (-before +after):\n%s", diff)
	}
	if got := again.counts(url2); got != [3]string{"1", "1", "1"} {
		t.Errorf("counts %v", got)
	}
	if m := again.one(url2, visibility(1000)); *m.Body != "shown again" || m.Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("received %q %v", *m.Body, m.Attributes)
	}
	clock.advance(50 * time.Second)
	if m := again.one(url2, visibility(1000)); *m.Body != "delayed" {
		t.Errorf("received %q", *m.Body)
	}
	clock.advance(449 * time.Second)
	again.none(url2)
	clock.advance(time.Second)
	if m := again.one(url2); *m.Body != "held" || m.Attributes["ApproximateReceiveCount"] != "2" || *m.MessageId != *held.MessageId {
		t.Errorf("received %q %v", *m.Body, m.Attributes)
	}
	if _, err := again.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("gone")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("the deleted queue: %v", err)
	}
}

func TestAReceiptHandleIsGoodAfterARestart(t *testing.T) {
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir})
	url := f.queue("q")
	f.send(url, "b")
	m := f.one(url)
	f.send(url, "whose answer says that the receive is on disk")
	again := open(t, sqs.Options{Dir: crashed(t, dir)})
	again.delete(url, m.ReceiptHandle)
	if got := again.counts(url); got != [3]string{"1", "0", "0"} {
		t.Errorf("counts %v", got)
	}
}

func TestDeadLettersAndMoveTasksSurviveACrash(t *testing.T) {
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir})
	_, dead := f.deadLetters("q", 5)
	arn := f.arn(dead)
	f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn, MaxNumberOfMessagesPerSecond: aws.Int32(5)})
	again := open(t, sqs.Options{Dir: crashed(t, dir)})
	if task := again.ended(arn, "COMPLETED"); task.ApproximateNumberOfMessagesMoved != 5 {
		t.Errorf("moved %d", task.ApproximateNumberOfMessagesMoved)
	}
	if got := again.counts(again.url + "/0/q"); got[0] != "5" {
		t.Errorf("counts %v", got)
	}
}

func TestAJournalThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir})
	url := f.queue("q")
	whole, err := os.ReadFile(filepath.Join(dir, sqs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	f.send(url, "b")
	longer, err := os.ReadFile(filepath.Join(dir, sqs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	for size := len(whole); size <= len(longer); size += 7 {
		t.Run(fmt.Sprint("is good up to the last whole write at byte ", size), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, sqs.JournalName), longer[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			f := open(t, sqs.Options{Dir: dir})
			want := "0"
			if size == len(longer) {
				want = "1"
			}
			if got := f.counts(url)[0]; got != want {
				t.Errorf("%s messages, want %s", got, want)
			}
			f.send(url, "one more")
			again := open(t, sqs.Options{Dir: crashed(t, dir)})
			if got := len(again.receive(url)); fmt.Sprint(got-1) != want {
				t.Errorf("after another crash %d messages", got)
			}
		})
	}
}

func TestADamagedJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir})
	url := f.queue("q")
	for range 3 {
		f.send(url, "b")
	}
	data, err := os.ReadFile(filepath.Join(dir, sqs.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"a byte in the middle": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"a missing piece":      func(b []byte) []byte { return append(b[:len(b)/3:len(b)/3], b[len(b)/2:]...) },
		"another file":         func([]byte) []byte { return []byte("hello\n") },
		"another version": func(b []byte) []byte {
			return []byte(strings.Replace(string(b), `"version":1`, `"version":2`, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, sqs.JournalName), damage(append([]byte{}, data...)), 0o600); err != nil {
				t.Fatal(err)
			}
			if server, err := sqs.Open(sqs.Options{Dir: dir}); err == nil {
				t.Errorf("opened, close: %v", server.Close())
			} else if !strings.Contains(err.Error(), sqs.JournalName) {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func TestCompaction(t *testing.T) {
	clock := newClock()
	dir := t.TempDir()
	f := open(t, sqs.Options{Dir: dir, Now: clock.Now})
	url := f.queue("q")
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, sqs.JournalName))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	t.Run("keeps the state and drops the past", func(t *testing.T) {
		f.send(url, "kept")
		for range 50 {
			f.send(url, "passing")
			for _, m := range f.receive(url, visibility(3600)) {
				if *m.Body == "passing" {
					f.delete(url, m.ReceiptHandle)
				}
			}
		}
		before := size()
		if err := f.server.Rewrite(); err != nil {
			t.Fatal(err)
		}
		if after := size(); after > before/4 {
			t.Errorf("%d bytes of %d are left", after, before)
		}
		f.send(url, "after it")
		again := open(t, sqs.Options{Dir: crashed(t, dir), Now: clock.Now})
		if got := again.counts(url); got != [3]string{"1", "1", "0"} {
			t.Errorf("counts %v", got)
		}
	})
	t.Run("happens by itself when the journal has grown", func(t *testing.T) {
		big := strings.Repeat("x", 1<<20)
		for range 8 {
			f.send(url, big)
			for _, m := range f.receive(url) {
				f.delete(url, m.ReceiptHandle)
			}
		}
		eventually(t, "a small journal", func() bool { return size() < 4<<20 })
	})
}

func TestTwoServersCannotHaveOneFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := sqs.Open(sqs.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if second, err := sqs.Open(sqs.Options{Dir: dir}); err == nil {
		t.Errorf("both are open, close: %v", second.Close())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	third, err := sqs.Open(sqs.Options{Dir: dir})
	if err != nil {
		t.Fatalf("after the close: %v", err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}
