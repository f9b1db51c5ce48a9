package blackboard

import (
	"context"
	"iter"
)

// watcher is a loop over Changes.
type watcher struct {
	runs map[string]bool // changed, and not yielded yet
	more chan struct{}   // full while runs has any
}

// Changes implements [Notifier]. A Memory has one process, so it yields the changes
// of this one, from the beginning of the loop on.
func (m *Memory) Changes(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		w := &watcher{more: make(chan struct{}, 1)}
		m.watch(w)
		defer m.unwatch(w)
		for {
			select {
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			case <-w.more:
			}
			for run := range m.changed(w) {
				if ctx.Err() == nil && !yield(run, nil) {
					return
				}
			}
		}
	}
}

func (m *Memory) watch(w *watcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watchers == nil {
		m.watchers = make(map[*watcher]bool)
	}
	m.watchers[w] = true
}

func (m *Memory) unwatch(w *watcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watchers, w)
}

// changed takes the runs that w has to yield.
func (m *Memory) changed(w *watcher) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := w.runs
	w.runs = nil
	return runs
}

// notify tells the watchers, under the lock, that a run has changed.
func (m *Memory) notify(run string) {
	for w := range m.watchers {
		if w.runs == nil {
			w.runs = make(map[string]bool)
			w.more <- struct{}{} // has room: changed, which made runs nil, comes after a receive
		}
		w.runs[run] = true
	}
}
