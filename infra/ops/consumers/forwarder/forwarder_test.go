package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/infra/kit/eventwebhook"
	"flashsale/infra/local/sqs"
	"flashsale/infra/local/sqspoller"
	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

// The secret that goes and the one that comes, of 24 and of 48 bytes.
const (
	oldSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	newSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"
)

// inProcess answers a client's requests without a network.
type inProcess struct{ http.Handler }

func (h inProcess) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// pipes is a network of one server.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// seen is what came of an event.
type seen struct {
	tries        []time.Duration // since the events were sent
	atOnce, most int             // tries at a time
	isDead       bool
}

// shop is a receiver that checks what it gets as its documents say.
type shop struct {
	*testing.T
	began  time.Time
	answer func(event string, n int, w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen map[string]*seen // by webhook-id
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("Webhook-Id")
	for _, secret := range []string{oldSecret, newSecret} {
		key, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = key.Verify(body, r.Header)
		}
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.URL.Path != "/orders" {
			s.Errorf("%v: got %s %s %v %s", err, r.Method, r.URL, r.Header, body)
		}
	}
	s.mu.Lock()
	one := s.seen[id]
	if one == nil {
		one = &seen{}
		s.seen[id] = one
	}
	one.tries = append(one.tries, time.Since(s.began))
	n := len(one.tries)
	one.atOnce++
	one.most = max(one.most, one.atOnce)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.atOnce--
	}()
	s.answer(id, n, w, r)
}

const queues = "http://queues/000000000000/"

// play sends the events and runs the function for three days and an hour, in virtual time. answer is what the receiver does at the n-th try of
// an event.
func play(t *testing.T, sent []string, answer func(event string, n int, w http.ResponseWriter, r *http.Request)) (all map[string]*seen, log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Disorder{})
		client := awssqs.New(awssqs.Options{
			BaseEndpoint: aws.String("http://queues"), Region: "us-east-1", HTTPClient: inProcess{server},
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		})
		for _, q := range []struct{ name, redrive string }{{"dead", ""}, {"events", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":100}`}} {
			attributes := map[string]string{"VisibilityTimeout": "180", "RedrivePolicy": q.redrive}
			maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
			if err := server.Create(q.name, attributes); err != nil {
				t.Fatal(err)
			}
		}
		network := make(pipes)
		s := &shop{T: t, began: time.Now(), answer: answer, seen: map[string]*seen{}}
		listening := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
		go listening.Serve(network)
		receiver, err := eventwebhook.NewReceiver("http://127.0.0.1/orders?key=hush", newSecret+","+oldSecret)
		if err != nil {
			t.Fatal(err)
		}
		receiver.Client.Transport = &http.Transport{DialContext: network.dial, DisableKeepAlives: true}
		var lines bytes.Buffer
		f := &forwarder{
			queue: client, queueURL: queues + "events", deadLetterURL: queues + "dead", receiver: receiver,
			now: time.Now, random: func() float64 { return 0.5 }, log: slog.New(slog.NewJSONHandler(&lines, nil)),
		}
		for _, event := range sent {
			if err := server.Send("events", event); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), tryFor+time.Hour)
		defer stop()
		poller := sqspoller.New(sqspoller.Config{QueueURL: queues + "events", BatchSize: 1, Concurrency: 10, Log: slog.New(slog.DiscardHandler)},
			client, function{lambda.NewHandler(f.handle)})
		if err := poller.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for {
			out, err := client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: aws.String(queues + "dead"), MaxNumberOfMessages: 10})
			if err != nil || len(out.Messages) == 0 {
				break
			}
			for _, m := range out.Messages {
				message, err := eventwebhook.Read([]byte(*m.Body))
				if err != nil {
					message.ID = *m.Body
				}
				if s.seen[message.ID] == nil {
					s.seen[message.ID] = &seen{}
				}
				s.seen[message.ID].isDead = true
			}
		}
		server.Close()
		listening.Close()
		all, log = s.seen, lines.String()
	})
	return all, log
}

// function is the function as Lambda runs it.
type function struct{ lambda.Handler }

func (f function) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, string, error) {
	answer, err := f.Handler.Invoke(ctx, payload)
	return answer, "", err
}

func event(e sale.Event) string {
	return fmt.Sprintf(`{"version":"0","id":"1","detail-type":%q,"source":"flashsale","detail":%s}`, e.Type, eventbus.Detail(e))
}

func TestAnEventIsTriedUntilItIsTakenOrThreeDaysAreOver(t *testing.T) {
	page := func(status int, header ...string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, "<h1>Oops\u2028\n"+strings.Repeat("!", 10_000))
		}
	}
	cases := map[string]struct {
		answer func(n int, w http.ResponseWriter, r *http.Request)
		tries  int
		last   time.Duration // when the last one was, 0 for at once
		isDead bool
	}{
		"taken":                    {page(200), 1, 0, false},
		"taken with an error page": {page(202, "Content-Type", "text/html"), 1, 0, false},
		"created":                  {page(201), 1, 0, false},
		"gone":                     {page(410), 1, 0, true},
		"moved":                    {page(302, "Location", "/elsewhere"), 28, tryFor, true},
		"refused":                  {page(401), 28, tryFor, true},
		"failing":                  {page(500), 28, tryFor, true},
		"hanging":                  {func(_ int, _ http.ResponseWriter, r *http.Request) { hang(r, 40*time.Second) }, 23, tryFor, true},
		"breaking off":             {func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 28, tryFor, true},
		"hanging once":             {func(n int, w http.ResponseWriter, r *http.Request) { hang(r, time.Duration(40/n/n)*time.Second) }, 2, 38 * time.Second, false},
		"failing twice": {func(n int, w http.ResponseWriter, r *http.Request) {
			page(map[bool]int{true: 204, false: 503}[n == 3])(n, w, r)
		}, 3, 10 * time.Second, false},
		"busy for an hour": {func(n int, w http.ResponseWriter, r *http.Request) {
			page(map[bool]int{true: 200, false: 429}[n == 2], "Retry-After", "3600")(n, w, r)
		}, 2, time.Hour, false},
		"busy for a year": {page(503, "Retry-After", "31536000"), 13, tryFor, true},
	}
	sent, byID := []string{"no event"}, map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		e := sale.Event{Type: sale.EventPaid, ID: fmt.Sprint("OrderPaid:", i+1), OccurredAt: time.Unix(1794398671, 0), SaleID: "moutai", OrderID: uint64(i + 1), Payment: "stripe#pi_1"}
		sent, byID[e.ID] = append(sent, event(e)), name
	}
	all, log := play(t, sent, func(id string, n int, w http.ResponseWriter, r *http.Request) { cases[byID[id]].answer(n, w, r) })
	for id, name := range byID {
		tt, got := cases[name], all[id]
		if got == nil {
			t.Errorf("%s: it was never tried", name)
			continue
		}
		first, last := got.tries[0], got.tries[len(got.tries)-1]
		if len(got.tries) != tt.tries || got.most != 1 || got.isDead != tt.isDead || last < tt.last || last > tt.last+time.Minute {
			t.Errorf("%s: got %d tries, %d at a time, the last after %v, dead: %t; want %d, 1, %v, %t\n%v", name, len(got.tries), got.most, last, got.isDead, tt.tries, tt.last, tt.isDead, got.tries)
		}
		if first > time.Minute {
			t.Errorf("%s: tried for the first time after %v, want at once, whatever becomes of others", name, first)
		}
	}
	if len(all) != len(cases)+1 || !all["no event"].isDead {
		t.Errorf("got %d events, want %d and what is none among the dead letters", len(all), len(cases))
	}
	for line := range strings.Lines(log) {
		if len(line) > 700 || strings.Contains(line, "hush") || strings.Contains(line, "AAEC") || strings.Contains(line, "\u2028") {
			t.Errorf("got a line with a secret, or too much of an answer: %s", line)
		}
	}
}

// hang waits, or until the caller has gone.
func hang(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// broken is a queue that cannot be called.
type broken struct{}

func (broken) ChangeMessageVisibility(context.Context, *awssqs.ChangeMessageVisibilityInput, ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityOutput, error) {
	return nil, errors.New("queue")
}

func (broken) SendMessage(context.Context, *awssqs.SendMessageInput, ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error) {
	return nil, errors.New("queue")
}

func TestAnEventStaysInTheQueueWhileTheQueueCannotBeCalled(t *testing.T) {
	receiver, err := eventwebhook.NewReceiver("http://127.0.0.1:1", oldSecret)
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarder{queue: broken{}, receiver: receiver, now: time.Now, random: func() float64 { return 0 }, log: slog.New(slog.DiscardHandler)}
	r, err := f.handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "untaken", Body: event(sale.Event{Type: sale.EventPaid, ID: "OrderPaid:1"})}, {MessageId: "no event", Body: "{}"},
	}})
	if want := []events.SQSBatchItemFailure{{ItemIdentifier: "untaken"}, {ItemIdentifier: "no event"}}; err != nil || !slices.Equal(r.BatchItemFailures, want) {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
}
