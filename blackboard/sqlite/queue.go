package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard"
)

// maxBatch is about how many records are committed together.
const maxBatch = 1024

// queue commits the records of concurrent calls together. Whoever comes first
// leads: it commits what is waiting, its own records among them, and hands the
// lead on to the first that came meanwhile.
type queue struct {
	mu      sync.Mutex
	led     bool    // a call leads; the first of waiting does, or soon will
	waiting []*call // in the order they came
}

// call is one Append.
type call struct {
	recs []blackboard.Record
	err  error
	turn chan bool // true: lead; false: done, err is set
}

// add has recs committed, by this call or another, and returns their error. A
// context that ends before that withdraws them.
func (q *queue) add(ctx context.Context, recs []blackboard.Record, commit func([]*call)) error {
	c := &call{recs: recs}
	if !q.enter(c) {
		var leads bool
		select {
		case leads = <-c.turn:
		case <-ctx.Done():
			if q.withdraw(c) {
				return ctx.Err()
			}
			leads = <-c.turn // too late: another commits them
		}
		if !leads {
			return c.err
		}
		runtime.Gosched() // there are others: lets those come that are about to
	}
	batch := q.take()
	commit(batch)
	q.handOn(batch)
	return c.err
}

// enter lines c up and says whether it leads.
func (q *queue) enter(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	leads := !q.led
	if !leads {
		c.turn = make(chan bool, 1)
	}
	q.led = true
	q.waiting = append(q.waiting, c)
	return leads
}

// withdraw takes c out of the line, if it has neither been taken nor got the lead.
func (q *queue) withdraw(c *call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 || len(c.turn) > 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take returns the next batch; the leader is the first of it.
func (q *queue) take() []*call {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, recs := 0, 0
	for n < len(q.waiting) && (n == 0 || recs+len(q.waiting[n].recs) <= maxBatch) {
		recs += len(q.waiting[n].recs)
		n++
	}
	batch := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch
}

// handOn wakes the next leader, then those whose records are committed.
func (q *queue) handOn(batch []*call) {
	q.mu.Lock()
	if len(q.waiting) > 0 {
		q.waiting[0].turn <- true // has room
	} else {
		q.led = false
	}
	q.mu.Unlock()
	for _, c := range batch[1:] {
		c.turn <- false
	}
}
