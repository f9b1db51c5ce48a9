package local

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// pieces is how much a watcher may be behind before something is lost to it.
const pieces = 256

// watchers are the readers of what the agents of a run report.
type watchers struct {
	mu  sync.Mutex
	all map[*watch]bool
}

// watch is one of them.
type watch struct {
	next chan agent.Progress
	lost int // since the last that was put in next
}

func (w *watchers) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all) > 0
}

func (w *watchers) add() *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &watch{next: make(chan agent.Progress, pieces)}
	if w.all == nil {
		w.all = map[*watch]bool{}
	}
	w.all[one] = true
	return one
}

func (w *watchers) remove(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, one)
}

// tell gives p to all who look; one that is too far behind misses it.
func (w *watchers) tell(p agent.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		p.Lost = one.lost
		select {
		case one.next <- p:
			one.lost = 0
		default:
			one.lost++
		}
	}
}

// Watching implements agent.Watcher.
func (r *run) Watching() bool {
	for ; r != nil; r = r.above() {
		if r.watchers.any() {
			return true
		}
	}
	return false
}

// Report implements agent.Watcher. Watchers of a run see its children, too.
func (r *run) Report(p agent.Progress) {
	for ; r != nil; r = r.above() {
		r.watchers.tell(p)
	}
}

// above is the run that started r, if this engine works on it.
func (r *run) above() *run {
	if r.parent == nil {
		return nil
	}
	return r.parent.r
}

// Watch implements engine.Watcher.
func (e *Engine) Watch(ctx context.Context, id string) iter.Seq2[agent.Progress, error] {
	return func(yield func(agent.Progress, error) bool) {
		r := e.run(id)
		if r == nil {
			l, err := e.listing(ctx, id)
			if err == nil && !l.Ended {
				err = agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process", engine.ErrStopped, id))
			}
			if err != nil {
				yield(agent.Progress{}, err)
			}
			return
		}
		one := r.watchers.add()
		defer r.watchers.remove(one)
		for {
			select {
			case p := <-one.next:
				if !yield(p, nil) {
					return
				}
				continue
			default:
			}
			select {
			case p := <-one.next:
				if !yield(p, nil) {
					return
				}
			case <-r.done:
				if len(one.next) == 0 {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
