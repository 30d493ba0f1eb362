package sqs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"
)

// A moveTask moves dead letters back to the queues they came from, or to another queue.
// Its JSON form is its form in the journal.
type moveTask struct {
	ID          string `json:"id"`
	Source      string `json:"source"`                // ARN of the dead-letter queue
	Destination string `json:"destination,omitempty"` // ARN; "": where each message came from
	PerSecond   int    `json:"perSecond,omitempty"`   // 0: as fast as it goes
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"` // of a failure
	Started     int64  `json:"started"`          // Unix nanoseconds
	ToMove      int64  `json:"toMove"`           // messages visible at the start
	Moved       int64  `json:"moved"`
}

const (
	taskRunning   = "RUNNING"
	taskCompleted = "COMPLETED"
	taskCancelled = "CANCELLED"
	taskFailed    = "FAILED"

	maxPerSecond   = 500
	maxTasksListed = 10
)

// A taskHandle identifies a task to clients, as base64 of JSON.
type taskHandle struct {
	TaskID string `json:"taskId"`
	Source string `json:"sourceArn"`
}

func (t *moveTask) handle() string {
	// Two strings always marshal.
	b, _ := json.Marshal(taskHandle{TaskID: t.ID, Source: t.Source})
	return base64.StdEncoding.EncodeToString(b)
}

// applyTask stores a task. The last ten finished tasks of a queue are kept, as many as
// can be listed.
func (s *Server) applyTask(t moveTask) error {
	s.tasks[t.ID] = &t
	if tasks := s.tasksOf(t.Source); len(tasks) > maxTasksListed {
		for _, old := range tasks[maxTasksListed:] {
			if old.Status != taskRunning {
				delete(s.tasks, old.ID)
			}
		}
	}
	return nil
}

// tasksOf returns the tasks of a queue, the latest first.
func (s *Server) tasksOf(source string) []*moveTask {
	var tasks []*moveTask
	for _, t := range s.tasks {
		if t.Source == source {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *moveTask) int {
		if a.Started != b.Started {
			return int(max(-1, min(1, b.Started-a.Started)))
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return tasks
}

func (s *Server) startMoveTask(c call) (any, error) {
	in, err := decode[struct {
		SourceArn                    string
		DestinationArn               string
		MaxNumberOfMessagesPerSecond *int
	}](c)
	if err != nil {
		return nil, err
	}
	task := moveTask{ID: newID(), Source: in.SourceArn, Destination: in.DestinationArn, Status: taskRunning}
	if n := in.MaxNumberOfMessagesPerSecond; n != nil {
		if *n < 1 || *n > maxPerSecond {
			return nil, errParameter("Value %d for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: Must be between 1 and %d, if provided.", *n, maxPerSecond)
		}
		task.PerSecond = *n
	}
	err = s.update(func(now time.Time) error {
		q, err := s.findSource(in.SourceArn)
		if err != nil {
			return err
		}
		if err := s.checkMove(q, in.DestinationArn); err != nil {
			return err
		}
		if err := s.refresh(q, now); err != nil {
			return err
		}
		task.Started, task.ToMove = now.UnixNano(), int64(q.ready.Len())
		if err := s.commit(record{Op: opTask, Task: &task}); err != nil {
			return err
		}
		s.runTask(s.tasks[task.ID])
		return nil
	})
	if err != nil {
		return nil, err
	}
	return struct{ TaskHandle string }{task.handle()}, nil
}

// findSource finds a task's source queue by its ARN.
func (s *Server) findSource(arn string) (*queue, error) {
	switch {
	case arn == "":
		return nil, errMissing("SourceArn")
	case !isQueueARN(arn):
		return nil, errARN("SourceArn")
	}
	q := s.byARN(arn)
	if q == nil {
		return nil, errNoResource("The resource that you specified for the SourceArn parameter doesn't exist.")
	}
	return q, nil
}

func errARN(parameter string) *fault {
	return errParameter("You must use this format to specify the %s: arn:<partition>:<service>:<region>:<account-id>:<resource-id>", parameter)
}

// checkMove refuses a task from q to that destination.
func (s *Server) checkMove(q *queue, destination string) error {
	source := s.arn(q.Name)
	if len(s.sourcesOf(q)) == 0 {
		return errParameter("Source queue must be configured as a Dead Letter Queue.")
	}
	switch {
	case destination == "":
	case !isQueueARN(destination):
		return errARN("DestinationArn")
	case s.byARN(destination) == nil:
		return errNoResource("The resource that you specified for the DestinationArn parameter doesn't exist.")
	case destination == source:
		return errParameter("Source queue arn and destination queue arn cannot be the same.")
	}
	for _, t := range s.tasksOf(source) {
		if t.Status == taskRunning {
			return errParameter("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		}
	}
	return nil
}

func (s *Server) listMoveTasks(c call) (any, error) {
	in, err := decode[struct {
		SourceArn  string
		MaxResults *int
	}](c)
	if err != nil {
		return nil, err
	}
	most := 1
	if in.MaxResults != nil {
		most = *in.MaxResults
	}
	if most < 1 || most > maxTasksListed {
		return nil, errParameter("Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and %d.", maxTasksListed)
	}
	type entry struct {
		TaskHandle                        string `json:",omitempty"`
		Status                            string
		SourceArn                         string
		DestinationArn                    string `json:",omitempty"`
		MaxNumberOfMessagesPerSecond      int    `json:",omitempty"`
		ApproximateNumberOfMessagesMoved  int64
		ApproximateNumberOfMessagesToMove int64
		FailureReason                     string `json:",omitempty"`
		StartedTimestamp                  int64
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.findSource(in.SourceArn)
	if err != nil {
		return nil, err
	}
	results := []entry{}
	for _, t := range s.tasksOf(s.arn(q.Name)) {
		if len(results) == most {
			break
		}
		e := entry{
			Status: t.Status, SourceArn: t.Source, DestinationArn: t.Destination, MaxNumberOfMessagesPerSecond: t.PerSecond,
			ApproximateNumberOfMessagesMoved: t.Moved, ApproximateNumberOfMessagesToMove: t.ToMove,
			FailureReason: t.Reason, StartedTimestamp: time.Unix(0, t.Started).UnixMilli(),
		}
		if t.Status == taskRunning {
			e.TaskHandle = t.handle()
		}
		results = append(results, e)
	}
	return struct{ Results []entry }{results}, nil
}

func (s *Server) cancelMoveTask(c call) (any, error) {
	in, err := decode[struct{ TaskHandle string }](c)
	if err != nil {
		return nil, err
	}
	var h taskHandle
	text, err := base64.StdEncoding.DecodeString(in.TaskHandle)
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil || h.TaskID == "" || h.Source == "" {
		return nil, errParameter("Value for parameter TaskHandle is invalid.")
	}
	var moved int64
	err = s.update(func(time.Time) error {
		if _, err := s.findSource(h.Source); err != nil {
			return err
		}
		t := s.tasks[h.TaskID]
		if t == nil || t.Source != h.Source {
			return errNoResource("Task does not exist.")
		}
		if t.Status != taskRunning {
			return errParameter("Only active tasks can be cancelled.")
		}
		moved = t.Moved
		return s.finish(t, taskCancelled, "")
	})
	return struct{ ApproximateNumberOfMessagesMoved int64 }{moved}, err
}
