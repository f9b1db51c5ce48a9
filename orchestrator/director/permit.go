package director

import (
	"errors"

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

// allow asks the host's Permit about a move. It returns ErrNotPermitted, ErrRule for a
// panic, or the error that ended the run.
func (r *run) allow(c *orchestrator.Context, m orchestrator.Move) error {
	if r.Rules.Permit == nil {
		return nil
	}
	move := m.Path + "/" + m.Event
	r.moves[move]++
	m.Nth = r.moves[move]
	if r.Policy.ReturnWhenWaiting {
		c = c.WithoutQuestions(team.Fail(ErrWaiting, "%s of %s waits for a person", m.Event, m.Path))
	}
	_, err := team.Guard("Rules.Permit", func() (struct{}, error) { return struct{}{}, r.Rules.Permit.Allow(c, m) })
	switch {
	case err == nil, team.Ends(err), r.unaskable(err):
		return err
	case errors.Is(err, agent.Code("panic")):
		return team.Fail(ErrRule, "%w", err)
	}
	return team.Fail(ErrNotPermitted, "%s of %s is not permitted: %w", m.Event, m.Path, err)
}

// allowPlan asks whether the tasks on the board may be begun.
func (r *run) allowPlan(c *orchestrator.Context) error {
	err := r.allow(c, orchestrator.Move{Path: "run", From: string(decomposing), Event: string(moveDecomposed), To: string(working)})
	if isRule(err) {
		r.refused(c, "plan", err)
	}
	return err
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
	err := r.allow(c, orchestrator.Move{
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
	case isRule(err):
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
	case !p.decided, r.unaskable(p.err):
		return false, nil
	}
	r.plea = nil
	return p.err == nil, p.err
}

// allowReplan is the branch in which a Permit is asked about a change of the tasks.
func (r *run) allowReplan(c *orchestrator.Context) error {
	err := r.allow(c, orchestrator.Move{Path: "run", From: string(working), Event: string(moveReplan), To: string(replanning)})
	if team.Ends(err) {
		r.plea = nil
		return err
	}
	*r.plea = plea{decided: true, err: err}
	return nil
}

// unaskable reports whether a move waits for a person whom this run cannot ask.
func (r *run) unaskable(err error) bool {
	return r.Policy.ReturnWhenWaiting && errors.Is(err, ErrWaiting)
}

// forPermits lists what waits for people whom this run cannot ask.
func (r *run) forPermits() (all []string) {
	for _, id := range r.board.In(blackboard.AwaitingQA) {
		if why := r.job(id).waits; why != "" {
			all = append(all, why)
		}
	}
	if r.plea != nil && r.unaskable(r.plea.err) {
		all = append(all, r.plea.err.Error())
	}
	return all
}
