package crew

import (
	"context"
	"sync"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// backlog is how many reports a Reader may be behind before it misses some.
const backlog = 256

// Feed carries what the agents of one run report while they work, off the record. It is
// an agent.Watcher. Reports go to the readers of the run and of the runs around it. The
// zero value has no readers. It is safe for concurrent use.
type Feed struct {
	Around *Feed // feed of the run that this one is inside of; nil: none

	mu      sync.Mutex
	readers map[*Reader]bool
}

// Watching implements agent.Watcher.
func (f *Feed) Watching() bool {
	f.mu.Lock()
	watched := len(f.readers) > 0
	f.mu.Unlock()
	return watched || f.Around != nil && f.Around.Watching()
}

// Report implements agent.Watcher.
func (f *Feed) Report(p agent.Progress) {
	f.mu.Lock()
	for r := range f.readers {
		r.tell(p)
	}
	f.mu.Unlock()
	if f.Around != nil {
		f.Around.Report(p)
	}
}

// Reader reads what the agents of a run report. It outlives the run until all is read.
type Reader struct {
	feed *Feed
	over <-chan struct{} // closed when the run reports no more
	gone *time.Timer     // time until a reader in another process counts as gone; under Readers.mu

	// Under feed.mu:
	unread []agent.Progress
	more   chan struct{} // full while there is something unread
	lost   int           // reports missed since the last one in unread
}

// tell gives p to r, unless r is too far behind.
func (r *Reader) tell(p agent.Progress) {
	if len(r.unread) == backlog {
		r.lost++
		return
	}
	p.Lost, r.lost = r.lost, 0
	if r.unread = append(r.unread, p); len(r.unread) == 1 {
		r.more <- struct{}{}
	}
}

// Read waits until there is something unread, or no more comes, and returns all of it.
func (r *Reader) Read(ctx context.Context) (ps []agent.Progress) {
	select {
	case <-r.more:
	case <-r.over:
	case <-ctx.Done():
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	ps, r.unread = r.unread, nil
	select {
	case <-r.more:
	default:
	}
	return ps
}

// Over reports whether nothing more comes. There may still be something unread.
func (r *Reader) Over() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// Readers are the readers of all runs of an engine, by names of their own. The zero value
// has none. It is safe for concurrent use.
type Readers struct {
	mu     sync.Mutex
	byName map[string]*Reader
}

// Open returns the reader of that name. If there is none, it begins to read feed, whose
// run is over when over is closed; with a nil feed it returns nil. With a limit above 0
// the reader is forgotten when it was not opened again for so long.
func (rs *Readers) Open(name string, feed *Feed, over <-chan struct{}, limit time.Duration) *Reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byName[name]
	if r == nil && feed != nil {
		r = &Reader{feed: feed, over: over, more: make(chan struct{}, 1)}
		if rs.byName == nil {
			rs.byName = map[string]*Reader{}
		}
		rs.byName[name] = r
		feed.mu.Lock()
		if feed.readers == nil {
			feed.readers = map[*Reader]bool{}
		}
		feed.readers[r] = true
		feed.mu.Unlock()
	}
	switch {
	case r == nil || limit == 0:
	case r.gone == nil:
		r.gone = time.AfterFunc(limit, func() { rs.Close(name) })
	default:
		r.gone.Reset(limit)
	}
	return r
}

// Close forgets the reader of that name, if there is one.
func (rs *Readers) Close(name string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r := rs.byName[name]; r != nil {
		delete(rs.byName, name)
		r.feed.mu.Lock()
		delete(r.feed.readers, r)
		r.feed.mu.Unlock()
	}
}
