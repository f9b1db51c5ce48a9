package local

import "sync"

// queue holds records that are committed and not yet applied to the flow, in log
// order. A push that finds no driver makes its caller the driver: the goroutine of a
// call continues with the flow itself, and none has to be woken.
type queue struct {
	mu      sync.Mutex
	items   []*record
	head    int
	err     error // why the run stops
	driving bool  // a goroutine drives; for good, once the run is over
}

// push adds a record; nil adds none. It tells whether the caller has to drive.
func (q *queue) push(rec *record) (drive bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if rec != nil {
		q.items = append(q.items, rec)
	}
	return q.seize()
}

// fail makes the next take return err; the first one counts. It tells whether the
// caller has to drive.
func (q *queue) fail(err error) (drive bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	return q.seize()
}

// reset forgets a failure of a run that has not begun.
func (q *queue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = nil
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

// take returns the next record. nil: there is none, and the caller drives no more. A
// failure comes before what is in line.
func (q *queue) take() (*record, error) {
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
	rec := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	return rec, nil
}
