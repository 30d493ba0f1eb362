package sqs

// Waiting is how many long polls wait on a queue of that name.
func (s *Server) Waiting(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[name]; q != nil {
		return len(q.waiters)
	}
	return 0
}
