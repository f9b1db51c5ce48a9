package local

import (
	"sync"

	"github.com/convene-go/convene/blackboard"
)

// log is what a run has put on record: with a store the number of the next record,
// without one the records themselves, which are encoded when somebody looks.
type log struct {
	seq    int64 // of the next record; only the committer touches it
	broken bool  // a record could not be stored; the same
	closed bool  // the run has ended: nothing follows; the same with a store, else under mu

	mu      sync.Mutex
	entries []*entry      // without a store
	signal  chan struct{} // closed at the next record; nil: nobody waits for it
}

// add keeps en in memory, unless the run has ended.
func (l *log) add(en *entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errEarlier
	}
	l.closed = en.kind == blackboard.Ended
	l.entries = append(l.entries, en)
	l.rouse()
	return nil
}

// changed tells those who watch that there is something new.
func (l *log) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rouse()
}

func (l *log) rouse() {
	if l.signal != nil {
		close(l.signal)
		l.signal = nil
	}
}

// watch returns a channel that is closed at the next record.
func (l *log) watch() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signal == nil {
		l.signal = make(chan struct{})
	}
	return l.signal
}

// from yields the records in memory.
func (l *log) from(seq int64, yield func(blackboard.Record, error) bool) {
	l.mu.Lock()
	entries := l.entries
	l.mu.Unlock()
	for ; seq < int64(len(entries)); seq++ {
		en := entries[seq]
		data, err := en.encoded()
		if !yield(en.record(seq, data), err) || err != nil {
			return
		}
	}
}
