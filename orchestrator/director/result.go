package director

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/internal/safepath"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// read is the worker's answer, or what is wrong with it.
func (r *run) read(c *orchestrator.Context, a *attempt, resp agent.Response) (WorkerResult, error) {
	shape, err := answer.For[WorkerResult]()
	if err != nil {
		return WorkerResult{}, err
	}
	result, dropped, err := answer.ReadLoose[WorkerResult](shape, resp.Data, resp.Text)
	if err == nil {
		r.WarnDropped(c, a.agent, dropped)
		err = r.checkResult(c, a, &result)
	}
	return result, err
}

// checkResult says what in a worker's answer cannot be carried out.
func (r *run) checkResult(c *orchestrator.Context, a *attempt, result *WorkerResult) error {
	var f team.Faults
	blocking := result.Escalation != nil && !result.Escalation.NonBlocking
	switch {
	case blocking, result.Status == statusFailed:
	case result.Status == statusWaiting:
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
	if e := result.Escalation; e != nil && e.Type == string(blackboard.BlockedExternal) && strings.TrimSpace(e.Needs+e.Reason) == "" {
		f.Add("escalation.needs is empty, want what is needed from outside")
	}
	for i, insight := range result.Insights {
		f.If(strings.TrimSpace(insight.Summary) == "", "insights[%d].summary is empty", i)
	}
	for i, d := range result.Decisions {
		f.If(strings.TrimSpace(d.Area) == "" || strings.TrimSpace(d.Summary) == "", "decisions[%d]: area or summary is empty", i)
	}
	return f.Err()
}

// accept carries out what a worker has answered: insights at once, suggestions kept for
// their review, then its escalation, its pause or its delivery.
func (r *run) accept(c *orchestrator.Context, a *attempt, result WorkerResult) error {
	for _, i := range result.Insights {
		if idFault(i.ID) != nil {
			i.ID = "" // the board gives it one
		}
		r.post(c, blackboard.RoleWorker, blackboard.Insight{ID: i.ID, Topic: i.Topic, Summary: i.Summary, SourceTask: a.id})
	}
	if suggested := r.suggested(c, a.id, result.Suggested); len(suggested) > 0 {
		r.lists.suggested = union(r.lists.suggested, []string{a.id})
		r.must(c, blackboard.Change{By: blackboard.RoleWorker, Task: a.id, Do: blackboard.Suggest{Suggestions: suggested}})
	}
	if e := result.Escalation; e != nil {
		r.Emit(c, EventEscalationRaised, &Event{Event: team.Event{Text: e.Reason}, Task: a.id, Attempt: a.n, On: e.Type})
		if !e.NonBlocking {
			return r.escalate(c, a, result)
		}
		r.warn(c, "escalation", a.id, "%s: %s", e.Type, e.Reason)
	}
	switch result.Status {
	case statusWaiting:
		return r.pause(c, a, result)
	case statusFailed:
		return fails(blackboard.Crashed, "the worker gave up: %s", prompt.OneLine(result.Summary))
	}
	return r.deliver(c, a, result)
}

// suggested are the suggestions of a worker. One whose ID or component cannot be a name is
// dropped with a warning.
func (r *run) suggested(c *orchestrator.Context, task string, all []Suggestion) (kept []blackboard.Suggestion) {
	for _, s := range all {
		d := s.definition()
		if err := cmp.Or(idFault(d.ID), componentFault(d.Component)); err != nil {
			r.warn(c, "task", task, "a suggestion was dropped: %s", err)
			continue
		}
		kept = append(kept, blackboard.Suggestion{Definition: d, Rationale: s.Rationale})
	}
	return kept
}

// post adds an insight, unless it is a duplicate.
func (r *run) post(c *orchestrator.Context, by blackboard.Role, i blackboard.Insight) {
	err := r.change(c, blackboard.Change{By: by, Do: blackboard.AddInsight{Insight: i}})
	if err != nil && !errors.Is(err, blackboard.ErrDuplicate) {
		r.warn(c, "insight", i.SourceTask, "an insight was dropped: %s", err)
	}
}

// deliver freezes the artifact for its review.
func (r *run) deliver(c *orchestrator.Context, a *attempt, result WorkerResult) error {
	frozen := blackboard.Frozen{Path: result.ResultPath, Branch: memoryBranch}
	if a.tree == nil {
		if strings.TrimSpace(result.Artifact) == "" {
			return fails(blackboard.EmptyResult, "the worker said that it was done, and the artifact is empty")
		}
		r.store.drafts[a.id] = result.Artifact
		frozen.Commit = hash(result.Artifact)
	} else {
		if err := cmp.Or(r.commit(c, a, result), r.gone(a)); err != nil {
			return err
		}
		frozen.Branch, frozen.Commit = a.tree.Branch, a.head
	}
	r.move(c, blackboard.RoleWorker, a.id, blackboard.Move{
		Event: blackboard.EventDeliver, Frozen: &frozen, Summary: result.Summary, Decisions: each(result.Decisions, DecisionPlan.decision),
	})
	return nil
}

// commit commits what the worker has made.
func (r *run) commit(c *orchestrator.Context, a *attempt, result WorkerResult) error {
	t, _ := r.board.Task(a.id)
	got, err := r.store.git.Commit(c, trees.CommitRequest{
		Tree: *a.tree, Since: a.head, At: c.Now(), Phase: t.Phase, Summary: result.Summary, Path: result.ResultPath, Text: result.Artifact, Into: r.into(&t),
	})
	switch {
	case err != nil:
		return gitFailure(err)
	case got.Unsafe != "":
		return fails(blackboard.EmptyResult, "%s", got.Unsafe)
	}
	a.head = got.Commit
	switch {
	case a.head == a.tree.Base && !a.resumed:
		return fails(blackboard.EmptyResult, "the worker said that it was done, and nothing was changed; if the main branch has the result already, escalate NEEDS_REPLANNING and say so")
	case !got.Found:
		return fails(blackboard.EmptyResult, "the worker said that it was done, and there is no file %s", result.ResultPath)
	case len(got.Unresolved) > 0:
		return fails(blackboard.Crashed, "there are conflict markers left in %s", strings.Join(got.Unresolved, ", "))
	}
	return nil
}

// acceptFrozen delivers what a person has accepted as it is: that is its review.
func (r *run) acceptFrozen(c *orchestrator.Context, t *blackboard.Task) {
	qa := blackboard.QA{Passed: true, Outcome: string(OutcomePass), Feedback: "a person accepts it", By: human}
	if t.QA != nil {
		qa.Criteria = t.QA.Criteria
	}
	r.move(c, blackboard.RoleWorker, t.ID, blackboard.Move{Event: blackboard.EventDeliver, Who: human, Frozen: t.Frozen, Summary: t.Summary})
	r.pass(c, t.ID, qa)
}

// human is the name of a person in blackboard.Move.Who and blackboard.QA.By.
const human = "human"

// checkpoint is what a worker that pauses gets back.
func (a *attempt) checkpoint(p *CheckpointPlan) *blackboard.Checkpoint {
	k := &blackboard.Checkpoint{ID: checkpointID(a.id, a.n)}
	if p != nil {
		k.Resume, k.Partial, k.Files = p.Resume, slices.Clone(p.Partial), p.Files
	}
	if a.tree != nil {
		k.Branch, k.Commit = a.tree.Branch, a.head
	}
	return k
}

func checkpointID(task string, attempt int) string { return fmt.Sprintf("%s/a%d", task, attempt) }

// interrupted says whether the last attempt at a task has left a checkpoint: it has not failed.
func interrupted(t *blackboard.Task) bool {
	return t.Checkpoint != nil && t.Checkpoint.ID == checkpointID(t.ID, t.Attempt)
}

// pause blocks a task until the tasks are complete that its worker wants, and which the
// director adds.
func (r *run) pause(c *orchestrator.Context, a *attempt, result WorkerResult) error {
	if err := r.keepWork(c, a); err != nil {
		return err
	}
	m := blackboard.Move{Checkpoint: a.checkpoint(result.Checkpoint)}
	if r.pausedOut(c, a, m, cmp.Or(result.Summary, "it waits for further tasks")) {
		return nil
	}
	changes, err := r.spawning(c, a, result.Spawn, m)
	switch {
	case team.Ends(err):
		return err
	case r.IsHostError(err):
		return &attemptError{kind: blackboard.Crashed, text: prompt.OneLine(err.Error()), told: crashWords}
	case err != nil:
		return fails(blackboard.Crashed, "%s", prompt.OneLine(err.Error()))
	}
	r.all(c, changes)
	r.clear(c, a.id, false)
	return nil
}

// spawning are the changes that pause a task for those that its worker wants: once more, as
// others may have added tasks meanwhile. None: the attempt has ended.
func (r *run) spawning(c *orchestrator.Context, a *attempt, wanted []Suggestion, m blackboard.Move) ([]blackboard.Change, error) {
	tasks, err := r.spawned(c, a.id, wanted)
	if err != nil {
		return nil, err
	}
	changes, err := r.routed(c, r.pausing(a.id, tasks, m))
	if !r.stillActive(a) {
		return nil, ends(err)
	}
	return changes, err
}

// pausing are the changes that add tasks and pause the one that waits for them.
func (r *run) pausing(id string, tasks []blackboard.Definition, m blackboard.Move) []blackboard.Change {
	m.Event, m.Blocked = blackboard.EventPause, &blackboard.BlockedReason{Type: blackboard.BySubtask}
	for _, t := range tasks {
		m.Needs = append(m.Needs, t.ID)
	}
	return []blackboard.Change{
		byDirector("", blackboard.AddTasks{Tasks: tasks}),
		byDirector(id, m),
	}
}

// spawned are the tasks that a worker wants for its task, or what is wrong with them.
func (r *run) spawned(c *orchestrator.Context, parent string, wanted []Suggestion) ([]blackboard.Definition, error) {
	if r.depth(parent) >= r.Bounds.Depth {
		return nil, fmt.Errorf("the task was itself caused by tasks, %d deep: it must be done without further ones", r.depth(parent))
	}
	tasks, err := r.definitions(each(wanted, func(s Suggestion) TaskPlan { return s.TaskPlan }), false)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		tasks[i].Parent, tasks[i].FromParent = parent, wanted[i].FromParent
	}
	return tasks, r.trial(c, r.pausing(parent, tasks, blackboard.Move{}))
}

// depth is how many tasks have caused a task, one for another.
func (r *run) depth(id string) (n int) {
	for {
		t, ok := r.board.Task(id)
		if !ok || t.Parent == "" {
			return n
		}
		id, n = t.Parent, n+1
	}
}
