package director

import (
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/providers"
)

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
	text, err := r.Run.Prompts.Fill("work.tmpl", promptData{
		Op: opWork, Does: a.profile.Does, Worktree: a.tree != nil, Resumed: a.resumed, Conflict: len(a.clashes) > 0,
		Retried: len(v.Memory) > 0 && v.Memory[0].Role == providers.System,
	})
	if err != nil {
		return err
	}
	a.slices, a.seen = 1, len(r.board.Board().Insights)
	in := WorkInput{
		Attempt: a.n, Slice: 1, Objective: v.Objective, Task: Task(v.Task.Definition), Profile: a.profile.info(), Spec: v.Spec, Decisions: wireDecisions(v.Decisions),
		Insights: wireInsights(v.Insights), Inputs: r.store.delivered(v.Inputs), Subtasks: r.store.delivered(v.Subtasks), Checkpoint: v.Task.Checkpoint,
		Worktree: a.place(), Conflicts: a.clashes, Left: r.left(c),
	}
	if a.tree == nil {
		in.Inputs = append(in.Inputs, r.rival(&v.Task, in.Inputs)...)
		r.job(a.id).shown = r.store.hashes(slices.Concat(in.Inputs, in.Subtasks))
	}
	a.req = agent.Request{Op: opWork, Task: a.id, Prompt: text, Input: agent.JSON(in), History: slices.Clone(v.Memory), Output: shape.JSON()}
	return nil
}

func (a *attempt) place() *trees.Place {
	if a.tree == nil {
		return nil
	}
	return &trees.Place{Path: a.tree.Path, Branch: a.tree.Branch, Commit: a.head}
}

// nextSlice makes the request of a further slice, of what the last one has left in a.req.
func (r *run) nextSlice(a *attempt) {
	a.slices++
	in := SliceInput{Task: a.id, Attempt: a.n, Slice: a.slices, Worktree: a.place()}
	if news := r.news(a); len(news) > 0 && a.req.Prompt == "" {
		if text, err := r.Run.Prompts.Fill("continue.tmpl", promptData{Op: opContinue, Insights: news}); err == nil {
			in.Insights, a.req.Prompt, a.seen = wireInsights(news), text, len(r.board.Board().Insights)
		}
	}
	a.req.Op, a.req.Input = opContinue, agent.JSON(in)
}

// news are the insights for the task since its worker was last told of any.
func (r *run) news(a *attempt) []blackboard.Insight {
	v, err := r.board.View(a.id)
	if err != nil {
		return nil
	}
	told := r.board.Board().Insights[:a.seen]
	return slices.DeleteFunc(v.Insights, func(i blackboard.Insight) bool {
		return slices.ContainsFunc(told, func(old blackboard.Insight) bool { return old.ID == i.ID })
	})
}

// slice has the worker work until the next check at the latest.
func (r *run) slice(c *orchestrator.Context, a *attempt) (agent.Response, error) {
	l := agent.Limits{Estimate: a.profile.Estimate}
	if a.every > 0 {
		l.ToolCalls = max(1, a.every-a.calls)
	}
	if every := r.Bounds.Watch.Every; every > 0 {
		l.Slice = max(time.Millisecond, every-a.since)
	}
	if all := r.Bounds.TaskTime; all > 0 {
		l.Total = max(time.Millisecond, all-a.total)
		if l.Slice == 0 || l.Total < l.Slice {
			l.Slice = l.Total
		}
	}
	l.Total = within(c, l.Total)
	a.req.Limits = l
	resp, err := c.Call(a.agent, a.req)
	r.spend(c, blackboard.RoleWorker, a.id, team.Used(resp, err))
	a.calls += int(resp.Usage.ToolCalls)
	a.since, a.total = a.since+resp.Elapsed, a.total+resp.Elapsed
	return resp, timed(err, "Bounds.TaskTime", r.Bounds.TaskTime)
}

// remember adds what was said to the memory of the task, and to the next request. Where
// the worker has made its conversation shorter, the memory becomes that.
func (r *run) remember(c *orchestrator.Context, a *attempt, resp agent.Response) error {
	if err := r.gone(a); err != nil {
		return err
	}
	if a.req.Op == opContinue {
		a.req.Input = nil // it is no part of the conversation
	}
	what := blackboard.Remember{Messages: agent.Said(a.req, resp), Anew: len(resp.Compactions) > 0}
	a.req = agent.Continue(a.req, resp)
	if len(resp.Messages) == 0 && resp.More {
		a.silent += resp.Elapsed
	} else {
		a.silent = 0
	}
	r.measure(c, a, resp, 0)
	if what.Anew {
		what.Messages = a.req.History
	}
	if len(what.Messages) == 0 {
		return nil
	}
	if err := r.change(c, blackboard.Change{By: blackboard.RoleWorker, Task: a.id, Do: what}); err != nil {
		return &attemptError{kind: blackboard.Crashed, text: "what the agent said cannot be kept: " + prompt.OneLine(err.Error()), told: crashWords}
	}
	return nil
}

// keepWork commits what a slice has left in the worktree.
func (r *run) keepWork(c *orchestrator.Context, a *attempt) error {
	if a.tree != nil {
		got, err := r.store.git.Commit(c, trees.CommitRequest{Tree: *a.tree, Since: a.head, At: c.Now(), Phase: "wip", Summary: fmt.Sprintf("slice %d", a.slices)})
		if err != nil {
			return gitFailure(err)
		}
		if got.Unsafe != "" {
			return fails(blackboard.Crashed, "%s", got.Unsafe)
		}
		if err := r.gone(a); err != nil {
			return err
		}
		a.head = got.Commit
		r.measure(c, a, agent.Response{}, got.Files)
	}
	r.Emit(c, eventSliceFinished, &Event{Event: team.Event{Text: a.head}, Task: a.id, Attempt: a.n, Count: a.calls})
	return r.gone(a)
}
