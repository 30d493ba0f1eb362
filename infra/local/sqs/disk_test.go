package sqs_test

import (
	"testing"

	"flashsale/infra/local/sqs"
)

func TestAQueueWorksAgainWhenTheDiskHasSpaceAgain(t *testing.T) {
	dir := t.TempDir()
	var told []error
	f := open(t, sqs.Options{Dir: dir, HealPause: 1, Report: func(err error) { told = append(told, err) }})
	url := f.queue("q")
	f.send(url, "before")

	free := f.server.FillDisk(t)
	if err := f.trySend(url, "meanwhile"); err == nil {
		t.Error("a message is taken although it cannot be kept")
	}
	free()

	eventually(t, "a queue that takes messages", func() bool { return f.trySend(url, "after") == nil })
	again := open(t, sqs.Options{Dir: crashed(t, dir)})
	bodies := map[string]bool{}
	for _, m := range again.receive(again.url + "/000000000000/q") {
		bodies[*m.Body] = true
	}
	if !bodies["before"] || !bodies["after"] {
		t.Errorf("after a crash there are %v, want all that was taken", bodies)
	}
	if err := f.server.Close(); err != nil {
		t.Error(err)
	}
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("told %v, want the error once and then that it is over", told)
	}
}
