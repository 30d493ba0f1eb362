// Package cache is a bounded cache for an execution environment: new entries replace
// the oldest. It reads no clock: callers pass the time, by the wall clock, because an
// environment may be frozen (see package clock).
package cache

import (
	"sync"
	"time"
)

// Map holds at most a given number of entries: when it is full, a new key replaces the
// key that was put first. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	limit   int
	entries map[K]V
	order   []K // ring of keys, the oldest at next once it is full
	next    int
}

// NewMap returns an empty map of at most limit entries, which must be positive.
func NewMap[K comparable, V any](limit int) Map[K, V] {
	return Map[K, V]{limit: limit, entries: map[K]V{}}
}

// Get returns the value of a key.
func (m *Map[K, V]) Get(key K) (V, bool) {
	value, ok := m.entries[key]
	return value, ok
}

// Put sets the value of a key. A key that exists keeps its place and its age.
func (m *Map[K, V]) Put(key K, value V) {
	if _, known := m.entries[key]; !known {
		if len(m.order) < m.limit {
			m.order = append(m.order, key)
		} else {
			delete(m.entries, m.order[m.next])
			m.order[m.next] = key
			m.next = (m.next + 1) % m.limit
		}
	}
	m.entries[key] = value
}

// Memory is a Map whose entries expire. It is safe for concurrent use.
type Memory[K comparable, V any] struct {
	mu sync.Mutex
	m  Map[K, entry[V]]
}

type entry[V any] struct {
	value       V
	from, until time.Time
}

// NewMemory returns an empty memory of at most limit entries, which must be positive.
func NewMemory[K comparable, V any](limit int) *Memory[K, V] {
	return &Memory[K, V]{m: NewMap[K, entry[V]](limit)}
}

// Get returns the value of a key, if it is valid at now.
func (m *Memory[K, V]) Get(key K, now time.Time) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.m.Get(key)
	if !ok || now.Before(e.from) || !now.Before(e.until) {
		return value, false
	}
	return e.value, true
}

// Put sets the value of a key, valid from one instant until shortly before another. If
// the wall clock steps back to before from, the value's age is unknown and it is not
// returned; a zero from is for values whose age does not matter.
func (m *Memory[K, V]) Put(key K, value V, from, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.Put(key, entry[V]{value, from, until})
}
