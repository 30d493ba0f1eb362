package main

import (
	"testing"
	"time"

	"flashsale/infra/kit/client"
)

func TestRequestsWithAnUnknownResultAreRepeated(t *testing.T) {
	for status, want := range map[int]bool{202: false, 200: false, 409: false, 503: true, 500: true, 429: true} {
		if got := unknown(client.Answer{Status: status}); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}

func TestRetriesComeSoon(t *testing.T) {
	for try := range 100 {
		if d := wait(client.Answer{RetryAfter: -1}, try); d < 20*time.Millisecond || d > 400*time.Millisecond {
			t.Errorf("try %d waits %v", try, d)
		}
	}
	if d := wait(client.Answer{RetryAfter: time.Hour}, 0); d != time.Second {
		t.Errorf("told to wait for an hour, it waits %v", d)
	}
}
