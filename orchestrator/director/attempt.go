package director

import (
	"cmp"
	"errors"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// attempt is a worker's work on a task, from its dispatch on.
type attempt struct {
	id      string
	n       int
	profile Profile
	agent   string         // the worker
	tree    *worktree.Tree // nil: there are no worktrees
	head    string         // the commit at which the worktree is
	resumed bool           // it continues what an earlier one has begun
	clashes []string       // files with conflict markers

	req     agent.Request // request of the next slice
	slices  int           // so far
	seen    int           // insights that the worker knows
	repairs int           // answers that did not fit

	every  int           // tool calls between two checks; 0: any
	calls  int           // since the last check
	since  time.Duration // work since the last check
	total  time.Duration // since the dispatch
	silent time.Duration // since the last message
	nudged bool          // at the last check
	checks *orchestrator.Queue[*verdict]
}

// attemptFailure is why an attempt failed before its review.
type attemptFailure struct {
	kind blackboard.FailureKind
	text string
	err  error // error of the call that failed; nil: none did

	outage bool // an agent could not be reached or has failed
}

// attempt is the branch of an attempt: the worker works in slices until it is done, and
// what it answers is carried out.
func (r *run) attempt(c *orchestrator.Context, id string) error {
	t, _ := r.board.Task(id)
	if t.Accepted {
		r.acceptFrozen(c, &t)
		return nil
	}
	a := &attempt{id: id, n: t.Attempt}
	err := r.undertake(c, a)
	if now, _ := r.board.Task(id); now.Attempt == a.n && now.Final() {
		r.clear(c, id, true)
	}
	return err
}

// undertake has the worker work, and carries out what it answers, or why there is no answer.
func (r *run) undertake(c *orchestrator.Context, a *attempt) error {
	result, why, err := r.perform(c, a)
	if r.current(c, a.id, a.n, blackboard.Active) && why == nil && err == nil {
		if why, err = r.accept(c, a, result); err == nil && (why == nil || !why.outage) {
			r.outages.succeeded()
		}
	}
	switch {
	case !r.stillActive(a): // delivered, paused or abandoned
	case isRule(err):
		_ = r.refused(c, a.id, err)
		r.askPerson(c, a, blackboard.Move{Checkpoint: a.checkpoint(result.Checkpoint)}, "a rule of the team failed: "+prompt.OneLine(err.Error()))
		r.clear(c, a.id, false)
		return nil
	case c.IsCanceled(err):
		r.release(c, a, result.Checkpoint, "canceled")
	case err != nil:
		r.release(c, a, result.Checkpoint, "the budget is used up")
	case why != nil:
		r.lose(c, a, *why)
	}
	return err
}

func (r *run) stillActive(a *attempt) bool {
	t, _ := r.board.Task(a.id)
	return t.Status == blackboard.Active && t.Attempt == a.n
}

// release makes the task READY again when its attempt ended for no fault of its worker: it
// costs no retry, and what was committed and what the worker wants to have back are kept.
func (r *run) release(c *orchestrator.Context, a *attempt, plan *CheckpointPlan, why string) {
	m := blackboard.Move{Event: blackboard.EventRelease, Reason: why}
	if plan != nil || a.tree != nil && a.head != a.tree.Base {
		k := a.checkpoint(plan)
		if t, _ := r.board.Task(a.id); plan == nil && t.Checkpoint != nil {
			k.Resume, k.Partial, k.Files = t.Checkpoint.Resume, t.Checkpoint.Partial, t.Checkpoint.Files
		}
		k.Resume = cmp.Or(k.Resume, "go on where you were interrupted")
		m.Checkpoint = k
	}
	r.direct(c, a.id, m)
}

// perform calls the worker until it is done, and returns its result, why the attempt failed,
// or the error that ended it; none of them for a task that was abandoned meanwhile.
func (r *run) perform(c *orchestrator.Context, a *attempt) (result WorkerResult, why *attemptFailure, err error) {
	if why, err = r.prepare(c, a); why != nil || err != nil {
		return result, why, err
	}
	defer r.dropCheck(a)
	for {
		resp, err := r.slice(c, a)
		if err != nil {
			return result, callFailure(err), ends(err)
		}
		if !r.stillActive(a) {
			return result, nil, nil // it was abandoned meanwhile
		}
		if why := r.remember(c, a, resp); why != nil {
			return result, why, nil
		}
		if !resp.More {
			if result, err = r.read(c, a, resp); err == nil {
				return result, nil, nil
			}
			if a.repairs++; a.repairs > 2 {
				return result, &attemptFailure{kind: blackboard.Crashed, text: "its answer cannot be used: " + prompt.OneLine(err.Error())}, nil
			}
			a.req.Prompt = "Your answer cannot be used: " + prompt.OneLine(err.Error()) + ". Answer again, with one JSON value that fits what was asked for, and nothing else."
		}
		if why, err := r.keepWork(c, a); why != nil || err != nil || !r.stillActive(a) {
			return result, why, err
		}
		if why, err := r.watch(c, a, resp.More); why != nil || err != nil || !r.stillActive(a) {
			return result, why, err
		}
		r.nextSlice(a)
	}
}

// ends is err if it is a cancel or a refused budget, else nil.
func ends(err error) error {
	if team.Ends(err) {
		return err
	}
	return nil
}

// callFailure is how a failed call fails the attempt; nil: a cancel or a refused budget does not.
func callFailure(err error) *attemptFailure {
	switch {
	case team.Ends(err):
		return nil
	case errors.Is(err, orchestrator.ErrTimeout):
		return &attemptFailure{kind: blackboard.TimedOut, text: prompt.OneLine(err.Error()), err: err}
	}
	return &attemptFailure{kind: blackboard.Crashed, text: prompt.OneLine(err.Error()), err: err, outage: true}
}

// gitFailure is the same for an operation of git: a worker is not to blame for what takes too
// long there.
func gitFailure(err error) *attemptFailure {
	why := callFailure(err)
	if why != nil {
		why.kind, why.outage = blackboard.Crashed, true
	}
	return why
}

// prepare makes the worktree and the first request.
func (r *run) prepare(c *orchestrator.Context, a *attempt) (*attemptFailure, error) {
	t, _ := r.board.Task(a.id)
	a.profile, _ = r.profile(t.Profile)
	a.agent = agentOf(&t, a.profile)
	a.resumed = t.Checkpoint != nil
	if base := r.Bounds.Watch.Calls; base > 0 {
		var err error
		if a.every, err = interval(base, t.Risk); err != nil {
			return nil, err
		}
	}
	if r.store.agent != "" {
		made, err := r.newTree(c, createRequest{Task: a.id, Attempt: a.n, Base: r.base(&t), Update: a.resumed, Into: r.into(&t)})
		if err != nil {
			return gitFailure(err), ends(err)
		}
		a.tree, a.head, a.clashes = &made.Tree, made.Head, made.Conflicts
	}
	return nil, r.firstSlice(c, a)
}
