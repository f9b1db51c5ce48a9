package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// tellEvery is the shortest time between two notifications of other processes: later
	// changes are collected for the next one.
	tellEvery = 20 * time.Millisecond

	// tellBytes is how long a notification of Postgres may be, with a reserve.
	tellBytes = 7000
)

// change is the payload of a notification.
type change struct {
	By   string   `json:"by"`
	Runs []string `json:"runs"`
}

// channel is the channel on which stores of these tables notify each other.
func (s *Store) channel() string { return fmt.Sprintf("convene_%x", uint64(s.sql.number("changes"))) }

// teller notifies other processes of changed runs, after the commits: a notification
// inside of a transaction would make all such transactions commit one by one. Processes
// find changes that were not notified by polling.
type teller struct {
	store *Store
	name  string // this store's name on the channel

	mu       sync.Mutex
	pending  map[string]bool
	busy     bool
	watchers map[*watcher]bool
}

// watcher is a loop over Changes.
type watcher struct {
	runs map[string]bool // changed, and not yielded yet
	more chan struct{}   // full while runs has any
}

// tell reports that this process has appended to runs. Loops of the same store are notified
// only if there are several: then there may be another engine of this process.
func (t *teller) tell(runs ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.watchers) > 1 {
		t.hand(runs)
	}
	t.send(runs)
}

// tellLetter reports that this process has put a letter for run.
func (t *teller) tellLetter(run string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hand([]string{run})
	t.send([]string{run})
}

// send queues runs for the notification of other processes.
func (t *teller) send(runs []string) {
	if t.pending == nil {
		t.pending = map[string]bool{}
	}
	for _, run := range runs {
		t.pending[run] = true
	}
	if !t.busy {
		t.busy = true
		t.store.work.Go(t.run)
	}
}

// run sends what is pending until nothing is left, or the store is closed.
func (t *teller) run() {
	for runs := t.take(); len(runs) > 0; runs = t.take() {
		t.notify(runs)
		select {
		case <-t.store.session.life.Done():
		case <-time.After(tellEvery):
		}
	}
}

func (t *teller) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := slices.Sorted(maps.Keys(t.pending))
	clear(t.pending)
	t.busy = len(runs) > 0
	return runs
}

// notify notifies other processes of runs. If it fails, they find the changes by polling.
func (t *teller) notify(runs []string) {
	for len(runs) > 0 {
		n, bytes := 0, 0
		for n < len(runs) && (n == 0 || bytes+6*len(runs[n]) < tellBytes) {
			bytes += 6*len(runs[n]) + 3 // most bytes of the name as JSON
			n++
		}
		payload, err := json.Marshal(change{By: t.name, Runs: runs[:n]})
		runs = runs[n:]
		if err != nil {
			continue
		}
		ctx, cancel := t.store.bound(context.Background())
		_, _ = t.store.cfg.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", t.store.channel(), string(payload))
		cancel()
	}
}

// spread passes changes by other processes to the loops over Changes.
func (t *teller) spread(runs []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hand(runs)
}

func (t *teller) hand(runs []string) {
	for w := range t.watchers {
		if len(runs) > 0 && len(w.runs) == 0 {
			w.runs = map[string]bool{}
			w.more <- struct{}{} // has room: changed, which empties runs, comes after a receive
		}
		for _, run := range runs {
			w.runs[run] = true
		}
	}
}

// Changes implements [runlog.Notifier]. Changes by this process are yielded, too, if
// they are letters or if there are several loops. While the session is lost, changes are
// missed.
func (s *Store) Changes(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.enter(ctx); err != nil {
			yield("", err)
			return
		}
		w := &watcher{more: make(chan struct{}, 1)}
		s.teller.watch(w)
		defer s.teller.unwatch(w)
		s.session.start()
		s.life.RUnlock() // Close does not wait for a loop
		for {
			select {
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			case <-s.session.life.Done():
				yield("", s.enter(context.WithoutCancel(ctx)))
				return
			case <-w.more:
			}
			for run := range s.teller.changed(w) {
				if ctx.Err() == nil && !yield(run, nil) {
					return
				}
			}
		}
	}
}

func (t *teller) watch(w *watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers == nil {
		t.watchers = map[*watcher]bool{}
	}
	t.watchers[w] = true
}

func (t *teller) unwatch(w *watcher) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers, w)
}

// changed returns the runs that w has to yield, and clears them.
func (t *teller) changed(w *watcher) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	runs := w.runs
	w.runs = nil
	return runs
}
