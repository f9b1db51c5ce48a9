package director

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard/board"
	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/prompt"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// attempt is a worker's work on a task, from its dispatch on.
type attempt struct {
	id      string
	n       int
	profile Profile
	tree    *worktree.Tree // nil: there are no worktrees
	head    string         // the commit at which the worktree is
	resumed bool           // it goes on where an earlier one has paused

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

// attempt is the branch of an attempt: the worker works in slices until it is done, and
// what it answers is carried out.
func (r *run) attempt(c *orchestrator.Context, id string) error {
	t, _ := r.board.Task(id)
	defer r.shares.close(attemptKey("work", id, t.Attempt))
	if t.Accepted {
		r.acceptFrozen(c, &t)
		return nil
	}
	a := &attempt{id: id, n: t.Attempt}
	result, why, err := r.perform(c, a)
	if !r.current(c, id, a.n, board.Active) {
		if t, _ := r.board.Task(id); t.Final() {
			r.clear(c, id, true)
		}
		return err
	}
	switch {
	case err != nil:
		r.release(c, a, err)
		return err
	case why == nil:
		r.outages.succeeded()
		why, err = r.accept(c, a, result)
	}
	if err != nil && r.stillActive(a) {
		r.release(c, a, err)
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

// release gives an attempt back that the end of the run has cut: it costs no retry, and
// what was committed is kept.
func (r *run) release(c *orchestrator.Context, a *attempt, err error) {
	why := "the budget is used up"
	if isCanceled(err) {
		why = "canceled"
	}
	m := board.Move{Event: board.EventRelease, Reason: why}
	if a.tree != nil && a.head != a.tree.Base {
		m.Checkpoint = &board.Checkpoint{Resume: "go on where you were interrupted", Commit: a.head}
	}
	r.direct(c, a.id, m)
}

// perform has the worker work until it is done. Of result, mishap and error one is there.
func (r *run) perform(c *orchestrator.Context, a *attempt) (result WorkerResult, why *mishap, err error) {
	if why, err = r.prepare(c, a); why != nil || err != nil {
		return result, why, err
	}
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
				r.dropCheck(a)
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

// ends is err if it ends the run or the task's share of it.
func ends(err error) error {
	if team.Ends(err) {
		return err
	}
	return nil
}

// brokenCall is what the failure of a worker's call means; nil: it is none.
func brokenCall(err error) *mishap {
	switch {
	case team.Ends(err):
		return nil
	case errors.Is(err, orchestrator.ErrTimeout):
		return &mishap{kind: board.TimedOut, text: prompt.OneLine(err.Error())}
	}
	return &mishap{kind: board.Crashed, text: prompt.OneLine(err.Error()), outage: true}
}

// prepare makes the worktree and the first request.
func (r *run) prepare(c *orchestrator.Context, a *attempt) (*mishap, error) {
	t, _ := r.board.Task(a.id)
	a.profile, _ = r.profile(t.Profile)
	a.resumed = t.Checkpoint != nil
	every, err := interval(r.Limits.GuardianCalls, t.Risk)
	if err != nil {
		return nil, err
	}
	if a.every = every; r.Limits.GuardianCalls == 0 {
		a.every = 0
	}
	if r.trees.agent != "" {
		made, err := r.plant(c, a.id, a.n, r.base(&t))
		if err != nil {
			return brokenCall(err), ends(err)
		}
		a.tree, a.head = &made.Tree, made.Head
	}
	return nil, r.firstSlice(c, a)
}

// firstSlice is the request with which an attempt begins.
func (r *run) firstSlice(c *orchestrator.Context, a *attempt) error {
	v, err := r.board.View(a.id)
	if err != nil {
		return err
	}
	shape, err := answer.For[WorkerResult]()
	if err != nil {
		return err
	}
	text, err := r.prompts.Fill("work.tmpl", promptData{
		Op: OpWork, Does: a.profile.Does, Worktree: a.tree != nil, Resumed: a.resumed,
		Retried: slices.ContainsFunc(v.Memory, func(m providers.Message) bool { return m.Role == providers.System }),
	})
	if err != nil {
		return err
	}
	a.slices, a.seen = 1, len(r.board.Board().Insights)
	in := WorkInput{
		Attempt: a.n, Slice: 1, Objective: v.Objective, Task: v.Task.Definition, Profile: a.profile.info(), Spec: v.Spec, Decisions: v.Decisions,
		Insights: v.Insights, Inputs: r.trees.delivered(v.Inputs), Subtasks: r.trees.delivered(v.Subtasks), Checkpoint: v.Task.Checkpoint,
		Worktree: a.place(), Left: r.left(c),
	}
	a.req = agent.Request{Op: OpWork, Prompt: text, Input: agent.JSON(in), History: slices.Clone(v.Memory), Output: shape.JSON()}
	return nil
}

func (a *attempt) place() *Place {
	if a.tree == nil {
		return nil
	}
	return &Place{Path: a.tree.Path, Commit: a.head}
}

// nextSlice makes the request of a further slice, of what the last one has left in a.req.
func (r *run) nextSlice(a *attempt) {
	a.slices++
	in := SliceInput{Task: a.id, Attempt: a.n, Slice: a.slices, Worktree: a.place()}
	if news := r.news(a); len(news) > 0 && a.req.Prompt == "" {
		if text, err := r.prompts.Fill("continue.tmpl", promptData{Op: OpContinue, Insights: news}); err == nil {
			in.Insights, a.req.Prompt, a.seen = news, text, len(r.board.Board().Insights)
		}
	}
	a.req.Op, a.req.Input = OpContinue, agent.JSON(in)
}

// news are the insights of others since the worker was last told of any.
func (r *run) news(a *attempt) (news []board.Insight) {
	v, err := r.board.View(a.id)
	if err != nil {
		return nil
	}
	old := map[string]bool{}
	for _, i := range r.board.Board().Insights[:a.seen] {
		old[i.ID] = true
	}
	for _, i := range v.Insights {
		if !old[i.ID] && i.SourceTask != a.id {
			news = append(news, i)
		}
	}
	return news
}

// slice has the worker work until the next check at the latest.
func (r *run) slice(c *orchestrator.Context, a *attempt) (agent.Response, error) {
	l := agent.Limits{Estimate: a.profile.Estimate}
	if a.every > 0 {
		l.ToolCalls = max(1, a.every-a.calls)
	}
	if every := r.Limits.GuardianEvery; every > 0 {
		l.Slice = max(time.Millisecond, every-a.since)
	}
	if all := r.Limits.TaskTime; all > 0 {
		l.Total = max(time.Millisecond, all-a.total)
		if l.Slice == 0 || l.Total < l.Slice {
			l.Slice = l.Total
		}
	}
	if left := c.Left().Wall; left > 0 && (l.Total == 0 || left < l.Total) {
		l.Total = left
	}
	a.req.Limits = l
	resp, err := c.Call(a.profile.Agent, a.req)
	r.spend(c, board.RoleWorker, a.id, resp.Usage, err)
	a.calls += int(resp.Usage.ToolCalls)
	a.since, a.total = a.since+resp.Elapsed, a.total+resp.Elapsed
	return resp, err
}

// remember adds what was said to the memory of the task, and to the next request.
func (r *run) remember(c *orchestrator.Context, a *attempt, resp agent.Response) *mishap {
	if a.req.Op == OpContinue {
		a.req.Input = nil // it is no part of the conversation
	}
	before := len(a.req.History)
	a.req = agent.Continue(a.req, resp)
	if len(resp.Messages) == 0 && resp.More {
		a.silent += resp.Elapsed
	} else {
		a.silent = 0
	}
	r.measure(c, a, resp)
	said := a.req.History[before:]
	if len(said) == 0 {
		return nil
	}
	if err := r.change(c, board.Change{By: board.RoleWorker, Task: a.id, Do: board.Remember{Messages: said}}); err != nil {
		return &mishap{kind: board.Crashed, text: "what the agent said cannot be kept: " + prompt.OneLine(err.Error())}
	}
	return nil
}

// keepWork commits what a slice has left in the worktree.
func (r *run) keepWork(c *orchestrator.Context, a *attempt) (*mishap, error) {
	if a.tree != nil {
		got, err := git[Committed](r, c, OpCommit, CommitRequest{Tree: *a.tree, Since: a.head, Phase: "wip", Summary: fmt.Sprintf("slice %d", a.slices)})
		if err != nil {
			return brokenCall(err), ends(err)
		}
		if got.Unsafe != "" {
			return &mishap{kind: board.Crashed, text: got.Unsafe}, nil
		}
		if !r.stillActive(a) {
			return nil, nil
		}
		a.head = got.Commit
		r.measureWrites(c, a, got.Files)
	}
	c.Emit(EventSliceFinished, Event{Task: a.id, Attempt: a.n, Count: a.calls, Text: a.head})
	return nil, nil
}

// read is the worker's answer, or what is wrong with it.
func (r *run) read(c *orchestrator.Context, a *attempt, resp agent.Response) (WorkerResult, error) {
	shape, err := answer.For[WorkerResult]()
	if err != nil {
		return WorkerResult{}, err
	}
	found, err := shape.Find(resp.Data, resp.Text)
	if err != nil {
		return WorkerResult{}, err
	}
	result, err := answer.Decode[WorkerResult](found)
	if err == nil {
		err = r.checkResult(c, a, &result)
	}
	return result, err
}

// checkResult says what in a worker's answer cannot be carried out.
func (r *run) checkResult(c *orchestrator.Context, a *attempt, result *WorkerResult) error {
	var f team.Faults
	blocking := result.Escalation != nil && !result.Escalation.NonBlocking
	switch {
	case blocking, result.Status == StatusFailed:
	case result.Status == StatusWaiting:
		if _, err := r.spawned(c, a.id, result.Spawn); err != nil {
			f.Add("spawn: %w", err)
		}
	default:
		path, err := safepath.Clean(result.ResultPath)
		if err != nil {
			f.Add("result_path: %w", err)
		}
		result.ResultPath = path
	}
	if e := result.Escalation; e != nil && e.Type == string(board.BlockedExternal) && strings.TrimSpace(e.Needs+e.Reason) == "" {
		f.Add("escalation.needs is empty, want what is needed from outside")
	}
	for i, insight := range result.Insights {
		if strings.TrimSpace(insight.Summary) == "" {
			f.Add("insights[%d].summary is empty", i)
		}
	}
	for i, d := range result.Decisions {
		if strings.TrimSpace(d.Area) == "" || strings.TrimSpace(d.Summary) == "" {
			f.Add("decisions[%d]: area or summary is empty", i)
		}
	}
	return f.Err()
}
