package local

import "sync"

// queue hands what is on record to the goroutine that drives the run, in the
// order of the log.
type queue struct {
	mu    sync.Mutex
	items []*entry
	head  int
	err   error // why the run stops
	idle  bool  // the driver waits for wake
	wake  chan struct{}
}

// push puts an item in line.
func (q *queue) push(it *entry) {
	q.mu.Lock()
	q.items = append(q.items, it)
	q.rouse()
}

// fail makes the next take return err; the first one counts.
func (q *queue) fail(err error) {
	q.mu.Lock()
	if q.err == nil {
		q.err = err
	}
	q.rouse()
}

// rouse wakes the driver and unlocks.
func (q *queue) rouse() {
	idle := q.idle
	q.idle = false
	q.mu.Unlock()
	if idle {
		q.wake <- struct{}{}
	}
}

// failure is why the run stops, or nil.
func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// take waits for the next item. A failure comes before what is in line.
func (q *queue) take() (*entry, error) {
	q.mu.Lock()
	for q.err == nil && q.head == len(q.items) {
		q.idle = true
		q.mu.Unlock()
		<-q.wake
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	it := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return it, nil
}
