package director

import (
	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// plea is a change of the tasks that waits for its permit.
type plea struct {
	decided bool
	err     error // nil: allowed
}

// beginPermits asks about the merges that are due, each in a branch of its own, so that a
// merge that waits holds up no other.
func (r *run) beginPermits() {
	if r.over != nil { // a merge that is due stays so
		return
	}
	for _, id := range r.permits {
		t, _ := r.board.Task(id)
		r.start(attemptKey("permit", id, t.Attempt), func(c *orchestrator.Context) error { return r.allowMerge(c, id, t.Attempt) })
	}
	r.permits = nil
}

// allowMerge is the branch in which a Permit is asked about a merge.
func (r *run) allowMerge(c *orchestrator.Context, id string, n int) error {
	err := r.Allow(c, orchestrator.Move{
		Path: "task/" + id, From: string(blackboard.AwaitingQA), Event: string(blackboard.EventPass), To: string(blackboard.Complete),
	})
	if team.Ends(err) {
		return err // its merge stays due
	}
	if !r.current(c, id, n, blackboard.AwaitingQA) {
		return nil
	}
	switch {
	case err == nil:
		r.merges = append(r.merges, id)
	case r.IsHostError(r.kept(err)):
		r.Warn(c, agent.ErrorOf(err).Codes[0], id, "%s", err.Error())
		t, _ := r.board.Task(id)
		r.job(id).passed = false
		r.ungraded(c, &t, EventMergeFailed, "it was not merged: "+prompt.OneLine(err.Error()), err)
	default:
		r.job(id).waits = err.Error()
	}
	return nil
}

// mayReplan reports whether the tasks may be changed now, or why they may not. The Permit is
// asked in a branch: until that ends, r.plea is set and no attempt begins.
func (r *run) mayReplan() (ok bool, refused error) {
	p := r.plea
	switch {
	case r.Rules.Permit == nil:
		return true, nil
	case p == nil:
		r.plea = new(plea)
		r.pleas++
		r.start(attemptKey("replan", "", r.pleas), r.allowReplan)
		return false, nil
	case !p.decided, r.IsWaiting(p.err):
		return false, nil
	}
	r.plea = nil
	return p.err == nil, p.err
}

// allowReplan is the branch in which a Permit is asked about a change of the tasks.
func (r *run) allowReplan(c *orchestrator.Context) error {
	err := r.kept(r.machine.Allow(c, moveReplan))
	if team.Ends(err) {
		r.plea = nil
		return err
	}
	*r.plea = plea{decided: true, err: err}
	return nil
}

// forPermits lists what waits for people whom this run cannot ask.
func (r *run) forPermits() (all []string) {
	for _, id := range r.board.In(blackboard.AwaitingQA) {
		if why := r.job(id).waits; why != "" {
			all = append(all, why)
		}
	}
	if r.plea != nil && r.IsWaiting(r.plea.err) {
		all = append(all, r.plea.err.Error())
	}
	return all
}
