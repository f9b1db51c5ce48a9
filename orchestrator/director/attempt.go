package director

import (
	"cmp"
	"errors"
	"time"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
)

// attempt is a worker's work on a task, from its dispatch on.
type attempt struct {
	id      string
	n       int
	profile Profile
	tree    *worktree.Tree // nil: there are no worktrees
	head    string         // the commit at which the worktree is
	resumed bool           // it continues what an earlier one has begun
	clashes []string       // files that others have changed meanwhile, too

	req     agent.Request // of the next slice
	slices  int           // so far
	seen    int           // insights that the worker knows
	repairs int           // answers that did not fit

	every  int           // tool calls between two checks; 0: any
	calls  int           // since the last check
	since  time.Duration // the same
	total  time.Duration // since the dispatch
	silent time.Duration // since the last message
	nudged bool          // at the last check
	checks *orchestrator.Queue[*verdict]
}

// mishap is why an attempt failed before its review.
type mishap struct {
	kind board.FailureKind
	text string

	outage bool // an agent could not be reached or has failed
}

// attempt is the branch of an attempt. The work of a task that was abandoned meanwhile is
// removed when its worker has ended.
func (r *run) attempt(c *orchestrator.Context, id string) error {
	t, _ := r.board.Task(id)
	if t.Accepted {
		r.acceptFrozen(c, &t)
		return nil
	}
	err := r.undertake(c, &attempt{id: id, n: t.Attempt})
	if t, _ = r.board.Task(id); t.Final() {
		r.clear(c, id, true)
	}
	return err
}

// undertake has the worker work in slices until it is done, and carries out what it answers.
func (r *run) undertake(c *orchestrator.Context, a *attempt) error {
	result, why, err := r.perform(c, a)
	if !r.current(c, a.id, a.n, board.Active) {
		return err
	}
	switch {
	case err != nil:
		r.release(c, a, nil, err)
		return err
	case why == nil:
		if why, err = r.accept(c, a, result); err == nil && (why == nil || !why.outage) {
			r.outages.succeeded()
		}
	}
	if err != nil && r.stillActive(a) {
		r.release(c, a, result.Checkpoint, err)
	}
	if why != nil && err == nil {
		r.lose(c, a, *why)
	}
	return err
}

func (r *run) stillActive(a *attempt) bool {
	t, _ := r.board.Task(a.id)
	return t.Status == board.Active && t.Attempt == a.n
}

// release makes the task READY again when a cancel or the budget cut its attempt off: it
// costs no retry, and what was committed is kept, and what a worker wants to have back.
func (r *run) release(c *orchestrator.Context, a *attempt, plan *CheckpointPlan, err error) {
	why := "the budget is used up"
	if isCanceled(err) {
		why = "canceled"
	}
	m := board.Move{Event: board.EventRelease, Reason: why}
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

// perform has the worker work until it is done. Of result, mishap and error one is there.
func (r *run) perform(c *orchestrator.Context, a *attempt) (result WorkerResult, why *mishap, err error) {
	if why, err = r.prepare(c, a); why != nil || err != nil {
		return result, why, err
	}
	defer r.dropCheck(a)
	for {
		resp, err := r.slice(c, a)
		if err != nil {
			return result, brokenCall(err), ends(err)
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
				return result, &mishap{kind: board.Crashed, text: "its answer cannot be used: " + prompt.OneLine(err.Error())}, nil
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

// brokenCall is how a failed call fails the attempt; nil: a cancel or a refused budget does not.
func brokenCall(err error) *mishap {
	switch {
	case team.Ends(err):
		return nil
	case errors.Is(err, orchestrator.ErrTimeout):
		return &mishap{kind: board.TimedOut, text: prompt.OneLine(err.Error())}
	}
	return &mishap{kind: board.Crashed, text: prompt.OneLine(err.Error()), outage: true}
}

// brokenGit is the same for an operation of git: a worker is not to blame for what takes too
// long there.
func brokenGit(err error) *mishap {
	why := brokenCall(err)
	if why != nil {
		why.kind, why.outage = board.Crashed, true
	}
	return why
}

// prepare makes the worktree and the first request.
func (r *run) prepare(c *orchestrator.Context, a *attempt) (*mishap, error) {
	t, _ := r.board.Task(a.id)
	a.profile, _ = r.profile(t.Profile)
	a.resumed = t.Checkpoint != nil
	if base := r.Limits.GuardianCalls; base > 0 {
		var err error
		if a.every, err = interval(base, t.Risk); err != nil {
			return nil, err
		}
	}
	if r.trees.agent != "" {
		made, err := r.plant(c, CreateRequest{Task: a.id, Attempt: a.n, Base: r.base(&t), Update: a.resumed, Into: r.into(&t)})
		if err != nil {
			return brokenGit(err), ends(err)
		}
		a.tree, a.head, a.clashes = &made.Tree, made.Head, made.Conflicts
	}
	return nil, r.firstSlice(c, a)
}
