package sqs

import "time"

// runTask moves a task's messages until the task is finished or the server closes; an
// unfinished task continues when the server is opened again. The caller holds the lock
// and has checked that the server is open.
func (s *Server) runTask(t *moveTask) {
	id, pause, step := t.ID, time.Millisecond, 100
	if t.PerSecond > 0 {
		pause, step = time.Second/time.Duration(t.PerSecond), 1
	}
	s.running.Go(func() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for s.move(id, step) {
			select {
			case <-s.ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// move moves some messages of a task and reports whether there is more to do. A change
// that cannot be recorded ends it, because later ones would fail, too.
func (s *Server) move(id string, messages int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range messages {
		t := s.tasks[id]
		if t == nil || t.Status != taskRunning || s.closed {
			return false
		}
		if err := s.moveOne(t); err != nil {
			return false
		}
	}
	return true
}

// moveOne moves the next message, or finishes the task.
func (s *Server) moveOne(t *moveTask) error {
	const gone = legacy + "NonExistentQueue"
	now := s.options.Now()
	from := s.byARN(t.Source)
	if from == nil {
		return s.finish(t, taskFailed, gone)
	}
	if err := s.refresh(from, now); err != nil {
		return err
	}
	// Not more than there were: a message that fails again at once and comes back must
	// not keep the task running forever.
	if from.ready.Len() == 0 || t.Moved >= t.ToMove {
		return s.finish(t, taskCompleted, "")
	}
	m := from.ready.Front().Value.(*message)
	arn := t.Destination
	if arn == "" {
		arn = m.Source
	}
	if arn == "" {
		return s.finish(t, taskFailed, "CouldNotDetermineMessageSource")
	}
	to := s.byARN(arn)
	if to == nil {
		return s.finish(t, taskFailed, gone)
	}
	return s.commit(record{Op: opMove, Queue: from.Key, ID: m.ID, To: to.Key, NewID: newID(), At: now.UnixNano(), TaskID: t.ID})
}

// finish records how a task ended.
func (s *Server) finish(t *moveTask, status, reason string) error {
	ended := *t
	ended.Status, ended.Reason = status, reason
	return s.commit(record{Op: opTask, Task: &ended})
}
