package director

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// attempt is a worker's work on a task, from its dispatch on.
type attempt struct {
	id      string
	n       int
	profile Profile
	agent   string         // name of the worker
	tree    *worktree.Tree // nil: there are no worktrees
	head    string         // commit at which the worktree is
	resumed bool           // it continues an earlier attempt
	clashes []string       // files with conflict markers

	req     agent.Request // request of the next slice
	slices  int           // slices so far
	seen    int           // insights that the worker knows
	repairs int           // answers that did not fit

	every  int                             // tool calls between two checks; 0: any number
	calls  int                             // tool calls since the last check
	since  time.Duration                   // time of work since the last check
	total  time.Duration                   // time of work since the dispatch
	silent time.Duration                   // time of work since the last message
	nudged bool                            // the last check has nudged the worker
	checks *orchestrator.Queue[Assessment] // check under way; nil: none is
}

// attemptError is the error of an attempt that failed before its review.
type attemptError struct {
	kind blackboard.FailureKind
	text string
	err  error  // error of the call that failed; nil: none did
	told string // words for models if the failure is technical; "": text

	outage bool // an agent could not be reached or has failed
}

func (f *attemptError) Error() string { return f.text }

// errGone says that a task has left its attempt meanwhile: nothing is to be done about it.
var errGone error = &attemptError{text: "the task has left its attempt"}

// What models are told about failures that are technical. People and the log get the errors.
const (
	crashWords   = "the attempt broke off for a technical reason: the work is not at fault"
	timeoutWords = "the attempt took too long"
	stallWords   = "the attempt was ended because nothing was said for too long"
	noReview     = "nobody could review or merge the work for a technical reason: it is not at fault"
)

// feedback is what is wrong with an attempt, in words for models.
func (f *attemptError) feedback() string { return cmp.Or(f.told, f.text) }

// fails is the failure of an attempt.
func fails(kind blackboard.FailureKind, format string, args ...any) error {
	return &attemptError{kind: kind, text: fmt.Sprintf(format, args...)}
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

// undertake has the worker work, and carries out its answer, or what follows from having none.
func (r *run) undertake(c *orchestrator.Context, a *attempt) error {
	result, err := r.perform(c, a)
	accepted := r.current(c, a.id, a.n, blackboard.Active) && err == nil
	if accepted {
		err = r.accept(c, a, result)
	}
	why, lost := errors.AsType[*attemptError](err)
	if accepted && (err == nil || lost && !why.outage) {
		r.outages.succeeded()
	}
	switch {
	case !r.stillActive(a): // delivered, paused or abandoned
	case lost:
		r.lose(c, a, *why)
	case r.IsHostError(err):
		r.askPerson(c, a, blackboard.Move{Checkpoint: a.checkpoint(result.Checkpoint)}, "a rule of the team failed: "+prompt.OneLine(err.Error()))
		r.clear(c, a.id, false)
		return nil
	case c.IsCanceled(err):
		r.release(c, a, result.Checkpoint, "canceled")
	case err != nil:
		r.release(c, a, result.Checkpoint, "the budget is used up")
	}
	if lost {
		return nil
	}
	return err
}

func (r *run) stillActive(a *attempt) bool { return r.isAt(a.id, a.n, blackboard.Active) }

// gone returns errGone if the task has left its attempt.
func (r *run) gone(a *attempt) error {
	if r.stillActive(a) {
		return nil
	}
	return errGone
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

// perform calls the worker until it is done, and returns its result.
func (r *run) perform(c *orchestrator.Context, a *attempt) (result WorkerResult, err error) {
	if err := r.prepare(c, a); err != nil {
		return result, err
	}
	defer r.dropCheck(a)
	for {
		resp, err := r.slice(c, a)
		if err != nil {
			return result, callFailure(err)
		}
		if err := r.remember(c, a, resp); err != nil {
			return result, err
		}
		if !resp.More {
			if result, err = r.read(c, a, resp); err == nil {
				return result, nil
			}
			if a.repairs++; a.repairs > 2 {
				return result, fails(blackboard.Crashed, "its answer cannot be used: %s", prompt.OneLine(err.Error()))
			}
			a.req.Prompt = "Your answer cannot be used: " + prompt.OneLine(err.Error()) + ". Answer again, with one JSON value that fits what was asked for, and nothing else."
		}
		if err := r.keepWork(c, a); err != nil {
			return result, err
		}
		if err := cmp.Or(r.watch(c, a, resp.More), r.gone(a)); err != nil {
			return result, err
		}
		r.nextSlice(a)
	}
}

// ends returns err if it ends the run, else nil.
func ends(err error) error {
	if team.Ends(err) {
		return err
	}
	return nil
}

// callFailure returns how a failed call fails the attempt, or err itself if it ends the run.
func callFailure(err error) error {
	if !team.Ends(err) && errors.Is(err, orchestrator.ErrTimeout) {
		return &attemptError{kind: blackboard.TimedOut, text: prompt.OneLine(err.Error()), err: err, told: timeoutWords}
	}
	return gitFailure(err)
}

// gitFailure is callFailure for an operation of git, whose timeout is no fault of the worker.
func gitFailure(err error) error {
	if team.Ends(err) {
		return err
	}
	return &attemptError{kind: blackboard.Crashed, text: prompt.OneLine(err.Error()), err: err, told: crashWords, outage: true}
}

// prepare makes the worktree and the first request.
func (r *run) prepare(c *orchestrator.Context, a *attempt) error {
	t, _ := r.board.Task(a.id)
	a.profile, _ = r.profile(t.Profile)
	a.agent = cmp.Or(t.Agent, a.profile.Agent)
	a.resumed = t.Checkpoint != nil
	if base := r.Bounds.Watch.Calls; base > 0 {
		var err error
		if a.every, err = interval(base, t.Risk); err != nil {
			return err
		}
	}
	if r.store.agent != "" {
		made, err := r.newTree(c, trees.CreateRequest{Task: a.id, Attempt: a.n, Base: r.base(&t), Update: a.resumed, Into: r.into(&t)})
		if err != nil {
			return gitFailure(err)
		}
		a.tree, a.head, a.clashes = &made.Tree, made.Head, made.Conflicts
	}
	return r.firstSlice(c, a)
}
