package sqs

// Waiting is how many long polls wait on a queue of that name.
func (s *Server) Waiting(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.named[name]; q != nil {
		return q.waiters.Len()
	}
	return 0
}

// JournalName is the file of a folder that holds the journal.
const JournalName = journalName

// Rewrite compacts the journal.
func (s *Server) Rewrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journal.rewrite(s.snapshot())
}
