package postgres

// How Append writes
//
// Calls queue their records as bundles. One goroutine takes what is queued, joins it to
// one bundle, and writes that in one transaction and one round trip (see insert.go). It
// ends when the queue is empty.
//
//   - The bundles of one write follow each other: where two calls write the same run, the
//     second begins where the first ends. A call that does not follow waits for the next
//     write, because the result of this one decides whether it conflicts.
//   - Calls of one run are written in the order in which they came.
//   - If the bundle is at fault, nothing was stored, and each call is written by itself.
//     So a conflict is the error of only the call that has it.
//   - A call whose ctx is done leaves the queue. If it is being written, its outcome is
//     unknown to it; the write goes on for the others.

import (
	"context"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Append implements [runlog.Store]. Calls that arrive during a write are written
// together, in one transaction; a conflict of one call does not fail the others. A
// record whose time is before 1678 or after 2261 is an error, unless it is the zero
// time. A call returns when ctx is done; if it was being written by then, the outcome
// is unknown.
func (s *Store) Append(ctx context.Context, recs []runlog.Record) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	b, err := newBundle(recs)
	if err == nil && len(recs) > 0 {
		err = s.group.append(ctx, b)
	}
	return explain(ctx, "append", err)
}

// maxGroup is how many records are written in one transaction, unless one call has
// more.
const maxGroup = 2048

// group writes the records of several calls together, on one goroutine while there are
// calls. A call that is canceled does not stop the write of the others.
type group struct {
	store *Store

	mu    sync.Mutex
	queue []*appendCall
	busy  bool // the goroutine runs
}

// appendCall is a call of Append.
type appendCall struct {
	*bundle
	done chan error // has room for one
}

// append queues b and returns when it is written or ctx is done.
func (g *group) append(ctx context.Context, b *bundle) error {
	call := &appendCall{b, make(chan error, 1)}
	g.mu.Lock()
	g.queue = append(g.queue, call)
	if !g.busy {
		g.busy = true
		g.store.work.Go(g.flush)
	}
	g.mu.Unlock()
	select {
	case err := <-call.done:
		return err
	case <-ctx.Done():
		g.remove(call)
		return ctx.Err()
	}
}

// remove removes a call from the queue, if it is still there.
func (g *group) remove(call *appendCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = slices.DeleteFunc(g.queue, func(c *appendCall) bool { return c == call })
}

// flush writes until the queue is empty.
func (g *group) flush() {
	for calls := g.next(); len(calls) > 0; calls = g.next() {
		all, err := together(calls)
		if err == nil {
			err = g.write(all)
		}
		for _, c := range calls {
			if len(calls) > 1 && isFault(err) { // the fault of one call: nothing was stored
				c.done <- g.write(c.bundle)
				continue
			}
			c.done <- err
		}
	}
}

// next removes the calls from the queue that can be written together. It returns none when
// the queue is empty; then the goroutine ends. A call whose records do not follow those waits: the
// result of this write decides whether it conflicts.
func (g *group) next() (calls []*appendCall) {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := map[string]*part{}
	n := 0
	g.queue = slices.DeleteFunc(g.queue, func(c *appendCall) bool {
		if n > 0 && (n+len(c.rows) > maxGroup || !c.follows(taken)) {
			for _, p := range c.parts {
				taken[p.run] = &part{ended: true} // later calls of the run wait, too
			}
			return false
		}
		for _, p := range c.parts {
			taken[p.run] = p
		}
		n += len(c.rows)
		calls = append(calls, c)
		return true
	})
	g.busy = len(calls) > 0
	return calls
}

// write writes b, and retries if the server ended the transaction in favor of another one.
func (g *group) write(b *bundle) (err error) {
	ctx, cancel := g.store.bound(context.Background())
	defer cancel()
	for range 3 {
		if err = g.store.unsure(g.store.write(ctx, b)); code(err) != deadlock && code(err) != serialization {
			break
		}
	}
	if err == nil {
		g.store.teller.tell(b.runs()...)
	}
	return g.store.seen(err)
}
