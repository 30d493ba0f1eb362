package sqs

import (
	"errors"
	"regexp"
)

const maxBatch = 10

var entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// A batch is the request of an operation on several entries of one queue.
type batch[E any] struct {
	QueueUrl string
	Entries  []E
}

// check refuses a batch as a whole.
func (b batch[E]) check(entry string, id func(E) string) error {
	switch n := len(b.Entries); {
	case n == 0:
		return errBatch("EmptyBatchRequest", "There should be at least one %s in the request.", entry)
	case n > maxBatch:
		return errBatch("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, n)
	}
	seen := map[string]bool{}
	for _, e := range b.Entries {
		if !entryID.MatchString(id(e)) {
			return errBatch("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}
	}
	for _, e := range b.Entries {
		if seen[id(e)] {
			return errBatch("BatchEntryIdsNotDistinct", "Id %s repeated.", id(e))
		}
		seen[id(e)] = true
	}
	return nil
}

// answers are the results of a batch, entry by entry.
type answers[A any] struct {
	Successful []A
	Failed     []failure
}

type failure struct {
	Id          string
	Code        string
	Message     string
	SenderFault bool
}

// fail records the failure of an entry, if it is one. Any error that is not a fault
// concerns the whole batch and is returned.
func (a *answers[A]) fail(id string, err error) error {
	if err == nil {
		return nil
	}
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	a.Failed = append(a.Failed, failure{Id: id, Code: f.code, Message: f.message, SenderFault: f.sender()})
	return nil
}

// filled returns both lists, empty instead of null: clients may rely on both.
func (a answers[A]) filled() answers[A] {
	if a.Successful == nil {
		a.Successful = []A{}
	}
	if a.Failed == nil {
		a.Failed = []failure{}
	}
	return a
}
