package local

import "sync"

// queue holds what is on record and not yet handed to the flow, in the order of the
// log, and says who drives the run: whoever puts something in while nobody does. So
// a call's goroutine goes on with the flow itself, and nobody is woken.
type queue struct {
	mu      sync.Mutex
	items   []*entry
	head    int
	err     error // why the run stops
	driving bool  // somebody drives; for good, once the run is over
}

// push puts an item in line, and tells whether the caller has to drive the run.
func (q *queue) push(it *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, it)
	return q.seize()
}

// fail makes the next take return err; the first one counts. It tells whether the
// caller has to drive the run.
func (q *queue) fail(err error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	return q.seize()
}

func (q *queue) seize() bool {
	mine := !q.driving
	q.driving = true
	return mine
}

// failure is why the run stops, or nil.
func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// take returns the next item. nil: there is none, and the caller drives no more. A
// failure comes before what is in line.
func (q *queue) take() (*entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return nil, q.err
	}
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		q.driving = false
		return nil, nil
	}
	it := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return it, nil
}
