package local

import (
	"context"
	"fmt"
	"iter"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// pieces is how much a watcher may be behind before something is lost to it.
const pieces = 256

// watcher is a reader of what the agents of a run report.
type watcher struct {
	next chan agent.Progress
	lost int // since the last that was put in next; under run.mu
}

// tell gives p to w, unless that is too far behind.
func (w *watcher) tell(p agent.Progress) {
	p.Lost = w.lost
	select {
	case w.next <- p:
		w.lost = 0
	default:
		w.lost++
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

// Watch implements engine.Watcher.
func (e *Engine) Watch(ctx context.Context, id string) iter.Seq2[agent.Progress, error] {
	return func(yield func(agent.Progress, error) bool) {
		r := e.run(id)
		if r == nil {
			l, err := e.store.listing(ctx, id)
			if err == nil && !l.Ended {
				err = agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process", engine.ErrStopped, id))
			}
			if err != nil {
				yield(agent.Progress{}, err)
			}
			return
		}
		w := &watcher{next: make(chan agent.Progress, pieces)}
		r.mu.Lock()
		if r.watchers == nil {
			r.watchers = map[*watcher]bool{}
		}
		r.watchers[w] = true
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.watchers, w)
		}()
		for {
			select {
			case p := <-w.next:
				if !yield(p, nil) {
					return
				}
			case <-r.done:
				if len(w.next) == 0 {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
