package contract

import "sync"

// maxRemembered bounds a memo; a full memo is cleared.
const maxRemembered = 10_000

// memo caches verdicts: each check compiles a schema, and a crowd gets the same few
// answers again and again.
type memo[V any] struct {
	mu    sync.Mutex
	known map[string]verdict[V]
}

type verdict[V any] struct {
	value V
	err   error
}

func (m *memo[V]) of(key string, judge func() (V, error)) (V, error) {
	m.mu.Lock()
	v, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return v.value, v.err
	}
	v.value, v.err = judge()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxRemembered {
		m.known = map[string]verdict[V]{}
	}
	m.known[key] = v
	return v.value, v.err
}
