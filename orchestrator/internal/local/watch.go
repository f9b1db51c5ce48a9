package local

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// pieces is how much a watcher may be behind before something is lost to it.
const pieces = 256

// watcher is a reader of what the agents of a run report. It outlives the run until
// all is read.
type watcher struct {
	r    *run
	gone *time.Timer // of a reader in another process: until it counts as gone

	// Under r.mu:
	unread []agent.Progress
	more   chan struct{} // full while there is something unread
	lost   int           // since the last that was put in unread
}

// tell gives p to w, unless that is too far behind.
func (w *watcher) tell(p agent.Progress) {
	if len(w.unread) == pieces {
		w.lost++
		return
	}
	p.Lost, w.lost = w.lost, 0
	if w.unread = append(w.unread, p); len(w.unread) == 1 {
		w.more <- struct{}{}
	}
}

// Watching implements agent.Watcher.
func (r *run) Watching() bool {
	r.mu.Lock()
	watched := len(r.watchers) > 0
	r.mu.Unlock()
	return watched || r.parent != nil && r.parent.r.Watching()
}

// Report implements agent.Watcher. Watchers of a run see its children, too.
func (r *run) Report(p agent.Progress) {
	r.mu.Lock()
	for w := range r.watchers {
		w.tell(p)
	}
	r.mu.Unlock()
	if r.parent != nil {
		r.parent.r.Report(p)
	}
}

// watch returns the watcher of that name, nil if there is none and this engine does not
// work on the run. With a limit it is forgotten when it was not asked for so long.
func (e *Engine) watch(id, name string, limit time.Duration) *watcher {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, r := e.watchers[name], e.known[id]
	if w == nil && r != nil {
		w = &watcher{r: r, more: make(chan struct{}, 1)}
		e.watchers[name] = w
		r.mu.Lock()
		if r.watchers == nil {
			r.watchers = map[*watcher]bool{}
		}
		r.watchers[w] = true
		r.mu.Unlock()
	}
	switch {
	case w == nil || limit == 0:
	case w.gone == nil:
		w.gone = time.AfterFunc(limit, func() { e.unwatch(name) })
	default:
		w.gone.Reset(limit)
	}
	return w
}

func (e *Engine) unwatch(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.watchers[name]; w != nil {
		delete(e.watchers, name)
		w.r.mu.Lock()
		delete(w.r.watchers, w)
		w.r.mu.Unlock()
	}
}

// read waits until there is something unread, or no more comes, and returns all of it.
func (w *watcher) read(ctx context.Context) (ps []agent.Progress) {
	select {
	case <-w.more:
	case <-w.r.done:
	case <-ctx.Done():
	}
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	ps, w.unread = w.unread, nil
	select {
	case <-w.more:
	default:
	}
	return ps
}

// Watch implements engine.Driver.
func (e *Engine) Watch(ctx context.Context, id string) iter.Seq2[agent.Progress, error] {
	return func(yield func(agent.Progress, error) bool) {
		q := request{Run: id, Reader: rand.Text()}
		defer e.unwatch(q.Reader)
		var silent time.Time // since when no engine replies; zero: one does
		err := e.until(ctx, id, func() (done bool, err error) {
			for err == nil {
				var a reply
				if a, err = e.ask(ctx, q); err == nil {
					q.began, silent = true, time.Time{}
				}
				for _, p := range a.Progress {
					if !yield(p, nil) {
						return true, nil
					}
				}
				if a.Over || ctx.Err() != nil {
					return true, nil //nolint:nilerr // nothing more comes, or it is not read
				}
			}
			if silent.IsZero() {
				silent = time.Now()
			}
			switch {
			case q.began && errors.Is(err, engine.ErrNoRun): // it was deleted
				return true, nil
			case q.began && errors.Is(err, engine.ErrStopped) && time.Since(silent) < e.cfg.Lease: // another engine may resume it
				return false, nil
			}
			return true, err
		})
		if err != nil && ctx.Err() == nil && e.open.Err() == nil {
			yield(agent.Progress{}, err)
		}
	}
}
