package director

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/routing"
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
		drain(r.queue)
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
	switch err := done.Err; {
	case c.IsCanceled(err): // stop did it; advance looks for a cancel of the run
	case orchestrator.IsOver(err):
		r.overspent(c, err)
	default:
		return true, err
	}
	return true, nil
}

// start begins a branch, unless one of that key is there.
func (r *run) start(key string, do func(c *orchestrator.Context) error) {
	if r.running[key] {
		return
	}
	r.running[key] = true
	r.queue.Go(key, func(c *orchestrator.Context) (struct{}, error) {
		defer delete(r.running, key)
		return struct{}{}, do(c)
	})
}

// stop has the loop cancel branches: a branch cannot do it.
func (r *run) stop(keys ...string) { r.stops = append(r.stops, keys...) }

// stopAll is stop for the branches whose keys begin with one of prefixes.
func (r *run) stopAll(prefixes ...string) {
	for _, key := range slices.Sorted(maps.Keys(r.running)) {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			r.stop(key)
		}
	}
}

// underWay counts the branches whose keys begin with prefix.
func (r *run) underWay(prefix string) (n int) {
	for key := range r.running {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

// The beginnings of keys of branches that wait, and do no work.
const (
	askKeys    = "ask/"
	permitKeys = "permit/"
	replanKeys = "replan/"
	wakeKeys   = "wake/"
)

// advance begins all that is due, and cancels what is not wanted any more.
func (r *run) advance(c *orchestrator.Context) error {
	if err := c.Err(); err != nil {
		return err
	}
	r.all(c, r.board.Evaluate(c.Now()))
	if err := r.replanIfDue(c); err != nil {
		return err
	}
	if err := r.carryOutHeld(c); err != nil {
		return err
	}
	if err := r.dispatch(c); err != nil {
		return err
	}
	r.beginWakes(c)
	r.beginReviews()
	r.beginPermits()
	r.beginMerge()
	r.beginSuggestions()
	r.beginQuestions()
	for _, key := range r.stops {
		r.queue.Cancel(key)
	}
	r.stops = nil
	return nil
}

// dispatch gives ready tasks to workers, as many as the limits allow.
func (r *run) dispatch(c *orchestrator.Context) error {
	if r.paused || r.plea != nil || c.Now().Before(r.outages.calm) {
		return nil
	}
	for r.over == nil {
		id, ok, err := r.next(c)
		if !ok || err != nil {
			return err
		}
		share, ok := r.share(c, id)
		if !ok {
			return nil
		}
		t, _ := r.board.Task(id)
		n := t.Attempt
		if !t.Accepted {
			n++
		}
		key, branch := attemptKey("work", id, n), r.store.name(c, id, n)
		r.direct(c, id, blackboard.Move{Event: blackboard.EventDispatch, Branch: branch})
		r.Emit(c, EventTaskDispatched, &Event{Event: team.Event{Who: t.Profile}, Task: id, Attempt: n, Branch: branch})
		if share != nil {
			r.shares.given[key] = share
		}
		r.start(key, func(c *orchestrator.Context) error {
			return r.underShare(c, key, id, func(c *orchestrator.Context) error { return r.attempt(c, id) })
		})
	}
	return nil
}

// next is the READY task that is dispatched now. The order of a routing.Preference is that in
// which the board keeps its tasks.
func (r *run) next(c *orchestrator.Context) (id string, ok bool, err error) {
	if _, usual := r.Rules.Scheduler.(routing.Preference); usual && !c.Now().Before(r.lastWake) {
		id, ok = r.board.Next(r.workerLimits())
		return id, ok, nil
	}
	return r.scheduled(c)
}

// scheduled is the first task in the Scheduler's order that the limits allow to begin.
func (r *run) scheduled(c *orchestrator.Context) (id string, ok bool, err error) {
	limits, active := r.workerLimits(), r.board.Nodes(blackboard.Active)
	ready := slices.DeleteFunc(r.board.Nodes(blackboard.Ready), func(n routing.Node) bool {
		t, _ := r.board.Task(n.ID)
		return c.Now().Before(t.NotBefore)
	})
	r.held = nil
	if len(active) >= max(limits.Global, 1) || len(ready) == 0 {
		return "", false, nil
	}
	for i := range ready {
		p, _ := r.profile(ready[i].Profile)
		ready[i].Estimate = int64(p.Estimate)
	}
	order, err := rule(r, c, "Rules.Scheduler", "Scheduler", func() ([]routing.Node, error) {
		order := r.Rules.Scheduler.Order(slices.Clone(ready), routing.Moment{Now: c.Now(), Active: active})
		return order, notReady(order, ready)
	})
	if err != nil {
		return "", false, err
	}
	busy := map[string]int{}
	for _, n := range active {
		busy[n.Profile]++
	}
	for _, n := range order {
		t, _ := r.board.Task(n.ID)
		if limit, limited := limits.Profiles[t.Profile]; !limited || busy[t.Profile] < limit {
			return n.ID, true, nil
		}
	}
	if len(order) == 0 {
		r.held = ready
	}
	return "", false, nil
}

// notReady returns an error that names a node of an order which is not ready or there twice.
func notReady(order, ready []routing.Node) error {
	open := map[string]bool{}
	for _, n := range ready {
		open[n.ID] = true
	}
	for _, n := range order {
		if !open[n.ID] {
			return fmt.Errorf("%q is not ready, or is there twice", n.ID)
		}
		delete(open, n.ID)
	}
	return nil
}

func attemptKey(what, task string, n int) string { return what + "/" + task + "/" + strconv.Itoa(n) }

// isAt reports whether a task is in a state, at that attempt.
func (r *run) isAt(id string, attempt int, s blackboard.State) bool {
	t, _ := r.board.Task(id)
	return t.Status == s && t.Attempt == attempt
}

// current is isAt. If it is false, it emits that a late result was dropped.
func (r *run) current(c *orchestrator.Context, id string, attempt int, s blackboard.State) bool {
	if r.isAt(id, attempt, s) {
		return true
	}
	r.Emit(c, eventResultDropped, &Event{Task: id, Attempt: attempt})
	return false
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
	if r.paused {
		return false, team.Fail(ErrWaiting, "the run is paused: %s", r.outages.why)
	}
	asked := len(r.waiting()) > 0 || len(r.forPermits()) > 0
	if len(r.held) > 0 && !asked {
		return false, team.Fail(ErrStuck, "the Scheduler holds back all that is READY: %s", r.reasons())
	}
	if !asked || r.dead() {
		changed, err := r.replan(c, "nothing can be done: "+strings.Join(r.reasonsBy(told), "; "))
		if changed || err != nil || r.queue.Len() > 0 {
			return err == nil, err
		}
		if r.over != nil {
			return false, r.over
		}
	}
	if asked || len(r.forPermits()) > 0 {
		return false, team.Fail(ErrWaiting, "people are waited for: %s", r.reasons())
	}
	return false, team.Fail(ErrStuck, "nothing can be done: %s", r.reasons())
}

// waiting are the tasks that wait for people or for something outside, in the order of the board.
func (r *run) waiting() []string {
	return append(r.board.In(blackboard.WaitingHuman), r.board.BlockedBy(blackboard.ByExternal)...)
}

// dead says whether a task waits for what only a re-plan can change.
func (r *run) dead() bool {
	return len(r.board.BlockedBy(blackboard.ByAbandoned, blackboard.ByReplanning)) > 0
}
