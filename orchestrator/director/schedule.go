package director

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// work works on the tasks: it starts a branch for whatever is due, and looks again when a
// branch ends. It returns nil when every task is final, and leaves nothing under way.
func (r *run) work(c *orchestrator.Context) error {
	r.queue = orchestrator.NewQueue[struct{}](c)
	for {
		again, err := r.turn(c)
		if again && err == nil {
			continue
		}
		r.queue.CancelAll()
		for _, ok := r.queue.Next(); ok; _, ok = r.queue.Next() {
			continue // what is under way ends before the run does
		}
		return err
	}
}

// turn begins what is due and waits for the end of a branch. It says whether there may be
// more to do.
func (r *run) turn(c *orchestrator.Context) (again bool, err error) {
	if err := r.advance(c); err != nil {
		return false, err
	}
	done, ok := r.queue.Next()
	if !ok {
		if err := c.Err(); err != nil {
			return false, err
		}
		return r.rest(c)
	}
	delete(r.under, done.Key)
	switch err := done.Err; {
	case isCanceled(err): // by stop; that the whole run is, advance sees
	case orchestrator.IsOver(err):
		r.exceed(c, err)
	default:
		return true, err
	}
	return true, nil
}

// start begins a branch, unless one of that key is there.
func (r *run) start(key string, do func(c *orchestrator.Context) error) {
	if r.under[key] {
		return
	}
	r.under[key] = true
	r.queue.Go(key, func(c *orchestrator.Context) (struct{}, error) { return struct{}{}, do(c) })
}

// stop has the loop cancel branches: a branch cannot do it.
func (r *run) stop(keys ...string) { r.stops = append(r.stops, keys...) }

// advance begins all that is due, and cancels what is not wanted any more.
func (r *run) advance(c *orchestrator.Context) error {
	if err := c.Err(); err != nil {
		return err
	}
	r.all(c, r.board.Evaluate(c.Now()))
	if err := r.replanIfDue(c); err != nil {
		return err
	}
	if err := r.obeyHeld(c); err != nil {
		return err
	}
	if !r.paused {
		r.dispatch(c)
	}
	r.beginReviews()
	r.beginMerge()
	r.beginWishes()
	r.beginQuestions()
	for _, key := range r.stops {
		r.queue.Cancel(key)
	}
	r.stops = nil
	return nil
}

// dispatch gives ready tasks to workers, as many as the limits allow.
func (r *run) dispatch(c *orchestrator.Context) {
	for r.over == nil {
		id, ok := r.board.Next(r.running())
		if !ok {
			return
		}
		share, ok := r.share(c, id)
		if !ok {
			return
		}
		t, _ := r.board.Task(id)
		n := t.Attempt
		if !t.Accepted {
			n++
		}
		r.direct(c, id, board.Move{Event: board.EventDispatch, Branch: r.trees.name(c, id, n)})
		key := attemptKey("work", id, n)
		c.Emit(EventTaskDispatched, Event{Task: id, Attempt: n, Who: t.Profile, Branch: r.trees.name(c, id, n)})
		if share != nil {
			r.shares.given[key] = share
		}
		r.start(key, func(c *orchestrator.Context) error {
			return r.underShare(c, key, id, func(c *orchestrator.Context) error { return r.attempt(c, id) })
		})
	}
}

func attemptKey(what, task string, n int) string { return what + "/" + task + "/" + strconv.Itoa(n) }

// current says whether a task is still in a state, at that attempt. If not, it emits that
// a late result was dropped.
func (r *run) current(c *orchestrator.Context, id string, attempt int, s board.State) bool {
	t, _ := r.board.Task(id)
	if t.Status == s && t.Attempt == attempt {
		return true
	}
	c.Emit(EventResultDropped, Event{Task: id, Attempt: attempt})
	return false
}

// isCanceled reports whether the engine has canceled what returned err.
func isCanceled(err error) bool {
	return orchestrator.IsOver(err) && errors.Is(err, orchestrator.ErrCanceled)
}

// rest decides when nothing is under way: every task is final, a re-plan lets the run
// continue, or the error says why it ends.
func (r *run) rest(c *orchestrator.Context) (again bool, err error) {
	if r.liveTasks() == 0 {
		return false, nil
	}
	if r.over != nil {
		return false, r.over
	}
	asked := len(r.waiting()) > 0
	dead := r.dead()
	if r.paused {
		return false, team.Fail(ErrWaiting, "the run is paused: %s", r.outages.why)
	}
	if !asked || dead {
		changed, err := r.replan(c, "nothing can be done: "+r.reasons())
		if changed || err != nil {
			return err == nil, err
		}
		if r.over != nil {
			return false, r.over
		}
	}
	if asked {
		return false, team.Fail(ErrWaiting, "people are waited for: %s", r.reasons())
	}
	return false, team.Fail(ErrStuck, "nothing can be done: %s", r.reasons())
}

// waiting are the tasks that wait for people or for something outside.
func (r *run) waiting() []string {
	return slices.DeleteFunc(r.board.In(board.WaitingHuman, board.Blocked), func(id string) bool {
		t, _ := r.board.Task(id)
		return t.Status == board.Blocked && t.Blocked.Type != board.ByExternal
	})
}

// dead says whether a task waits for what only a re-plan can change.
func (r *run) dead() bool {
	return slices.ContainsFunc(r.board.In(board.Blocked), func(id string) bool {
		t, _ := r.board.Task(id)
		return t.Blocked.Type == board.ByAbandoned || t.Blocked.Type == board.ByReplanning
	})
}

// reasons says why tasks are not done.
func (r *run) reasons() string {
	var all []string
	for _, id := range r.board.In(board.Ready, board.Blocked, board.WaitingHuman) {
		t, _ := r.board.Task(id)
		why := t.Reason
		if t.Blocked != nil {
			why = strings.TrimSpace(fmt.Sprintf("%s %s", t.Blocked.Type, strings.Join(t.Blocked.WaitingOn, ", ")))
		}
		all = append(all, fmt.Sprintf("%s is %s (%s)", id, t.Status, why))
	}
	return strings.Join(all, "; ")
}
