package director

import (
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// beginMerge begins the merge of what passed first, if none is under way.
func (r *run) beginMerge() {
	if len(r.merges) == 0 || r.underWay("merge/") > 0 {
		return
	}
	id := r.merges[0]
	r.merges = r.merges[1:]
	t, _ := r.board.Task(id)
	r.start(attemptKey("merge", id, t.Attempt), func(c *orchestrator.Context) error { return r.merge(c, id, t.Attempt) })
}

// merge is the branch of a merge: only then the task is complete.
func (r *run) merge(c *orchestrator.Context, id string, n int) error {
	t, _ := r.board.Task(id)
	if !r.isAt(id, n, blackboard.AwaitingQA) {
		return nil // it was abandoned meanwhile
	}
	got, kind, err := r.mergeWork(c, &t)
	for wait := time.Second; err == nil && got.Moved && wait <= mergeWait; wait *= 2 {
		if err = c.Sleep(wait); err == nil {
			got, kind, err = r.mergeWork(c, &t)
		}
	}
	if team.Ends(err) {
		return err // its merge stays due
	}
	if !r.current(c, id, n, blackboard.AwaitingQA) {
		return nil
	}
	r.job(id).passed = false
	if err != nil {
		r.ungraded(c, &t, EventMergeFailed, "it could not be merged: "+prompt.OneLine(err.Error()), err)
		return nil
	}
	if kind != "" {
		return r.conflict(c, &t, blackboard.QA{Kind: kind, Feedback: conflictText(kind, got, r.store.agent == ""), Files: got.Conflicts})
	}
	r.Emit(c, EventCommitMerged, &Event{Event: team.Event{Text: got.Commit}, Task: id, Attempt: n})
	if got.Behind != "" {
		r.warn(c, "checkout", id, "the folder %s has the branch checked out and could not follow it", got.Behind)
	}
	r.move(c, blackboard.RoleStrategist, id, blackboard.Move{Event: blackboard.EventPass, Who: t.QA.By, QA: t.QA, Merged: got.Commit, Files: got.Files})
	r.completed(c, &t)
	r.clear(c, id, true)
	return nil
}

// mergeWork merges what was delivered. A kind says why it cannot be merged; "": it is, or the
// task was abandoned meanwhile.
func (r *run) mergeWork(c *orchestrator.Context, t *blackboard.Task) (got trees.Merged, kind blackboard.FailureKind, err error) {
	if !r.undecided(t) {
		return got, "", nil
	}
	if r.store.agent == "" {
		got, kind = r.mergeText(t)
		return got, kind, nil
	}
	tree, err := r.treeOf(c, t)
	if err != nil {
		return got, "", err
	}
	req := trees.MergeRequest{Tree: tree, Commit: t.Frozen.Commit, Into: r.into(t), Prepare: r.checked(t)}
	got, err = r.store.git.Merge(c, req)
	for tries := 1; err == nil && got.Prepared != ""; tries++ {
		if tries > mergeTries {
			got.Moved = true
			break
		}
		broken, err := r.newlyFailing(c, t, got)
		if err != nil {
			return got, "", err
		}
		if len(broken) > 0 {
			got.Conflicts = broken
			return got, blackboard.MergeBroken, nil
		}
		if !r.undecided(t) {
			return got, "", nil
		}
		req.Checked = got.Prepared
		if got, err = r.store.git.Merge(c, req); err != nil {
			return got, "", err
		}
	}
	if err == nil && !got.Merged {
		kind = blackboard.MergeConflict
	}
	return got, kind, err
}

// mergeText is mergeWork without worktrees.
func (r *run) mergeText(t *blackboard.Task) (got trees.Merged, kind blackboard.FailureKind) {
	path, content := t.Frozen.Path, r.store.drafts[t.ID]
	if r.overwrites(t) {
		got.Conflicts = []string{path}
		return got, blackboard.MergeConflict
	}
	delete(r.store.drafts, t.ID)
	r.store.files[path] = content
	got.Merged, got.Commit, got.Files = true, t.Frozen.Commit, map[string]string{path: hash(content)}
	return got, ""
}

// overwrites reports whether the artifact of a task would replace one in memory whose text its
// worker has not seen. A person may accept that.
func (r *run) overwrites(t *blackboard.Task) bool {
	path := t.Frozen.Path
	there, taken := r.store.files[path]
	if !taken || there == r.store.drafts[t.ID] || t.QA.By == human {
		return false
	}
	if shown := r.job(t.ID).shown; shown != nil {
		return shown[path] != hash(there)
	}
	writer, _ := r.board.Task(r.board.Board().Files[path].Task) // the attempt was made in another run
	needed := slices.Contains(t.DependsOn, writer.ID) || slices.Contains(t.WaitingFor, writer.ID)
	return !needed || writer.CompletedAt.After(t.StartedAt)
}

// undecided reports whether delivered work still waits for its merge. A task that was abandoned
// is not merged; its branch may be canceled only later, while git removes the work of others.
func (r *run) undecided(t *blackboard.Task) bool {
	return r.isAt(t.ID, t.Attempt, blackboard.AwaitingQA)
}

// mergeTries is how often a merge is checked anew because others moved the branch. Then it
// waits, for a second at first, and for mergeWait at last: the work is not at fault.
const (
	mergeTries = 4
	mergeWait  = 16 * time.Second
)

// newlyFailing returns the tests that fail on the merged tree and pass without this work. A
// test that the review calls wrong does not count.
func (r *run) newlyFailing(c *orchestrator.Context, t *blackboard.Task, merge trees.Merged) ([]string, error) {
	after, err := r.runCheck(c, t, merge.Prepared)
	if err != nil || after == nil || after.Passed {
		return nil, err
	}
	before, err := r.runCheck(c, t, merge.Onto)
	if err != nil {
		return nil, err
	}
	known := slices.Concat(before.Failed, t.QA.TestsToRevise)
	broken := slices.DeleteFunc(slices.Clone(after.Failed), func(test string) bool { return slices.Contains(known, test) })
	if len(broken) == 0 && len(after.Failed) == 0 && before.Passed {
		broken = []string{"the check itself: " + prompt.OneLine(text.Shorten(after.Output, 500))}
	}
	return broken, nil
}

// conflictText explains a merge that failed.
func conflictText(kind blackboard.FailureKind, got trees.Merged, memory bool) string {
	switch {
	case kind == blackboard.MergeBroken:
		return "with what others have merged meanwhile, tests fail that passed before"
	case memory:
		return "another task has delivered this path meanwhile, and its text is among the inputs now: keep what it has, or choose another path"
	case got.Moved:
		return "others moved the branch again and again"
	}
	return "others have changed the same files meanwhile"
}

// conflict fails a merge: the worker did nothing wrong, and does it again from what is
// merged now. The director is told, and may let the task wait for others first.
func (r *run) conflict(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) error {
	qa.Outcome = string(OutcomeFail)
	r.Emit(c, EventMergeFailed, &Event{Task: t.ID, Attempt: t.Attempt, On: string(qa.Kind), Files: qa.Files})
	r.move(c, blackboard.RoleStrategist, t.ID, blackboard.Move{Event: blackboard.EventConflict, QA: &qa})
	then := r.after(c, t, qa, t.ConflictCount+1, nil)
	if then.Retry {
		if err := r.askConflict(c, t, qa); err != nil {
			return err
		}
	}
	if now, _ := r.board.Task(t.ID); now.Status == blackboard.FailedQA {
		r.afterFailure(c, &now, qa, then)
	}
	return nil
}

// askConflict asks the director whether the task should wait for others from now on. An
// answer that cannot be used changes nothing.
func (r *run) askConflict(c *orchestrator.Context, t *blackboard.Task, qa blackboard.QA) error {
	q := r.toDirector(opConflict, "conflict.tmpl", t.ID, promptData{Kind: string(qa.Kind)}, conflictInput{
		Graph: r.graph(c), Task: t.ID, Attempt: t.Attempt, Kind: qa.Kind, Files: qa.Files, Text: qa.Feedback,
	})
	_, changes, err := askFor(r, c, q, func(a conflictAnswer) ([]blackboard.Change, error) {
		if now, _ := r.board.Task(t.ID); len(a.DependsOn) == 0 || now.Status != blackboard.FailedQA {
			return nil, nil
		}
		return []blackboard.Change{byDirector(t.ID, blackboard.Edit{AddNeeds: a.DependsOn})}, nil
	})
	if err != nil && !team.Ends(err) {
		r.warn(c, "conflict", t.ID, "the director's answer changes nothing: %s", err)
	}
	r.all(c, changes)
	return ends(err)
}

// completed carries out what follows from a review that passed, once the work is merged.
func (r *run) completed(c *orchestrator.Context, t *blackboard.Task) {
	qa := *t.QA
	r.failures.passed()
	r.log(c, t.ID, t.Decisions)
	for _, note := range qa.Notes {
		if strings.TrimSpace(note) != "" {
			r.post(c, blackboard.RoleStrategist, blackboard.Insight{Topic: []string{"qa"}, Summary: note, SourceTask: t.ID})
		}
	}
	r.refine(c, t, qa.Refined)
	r.revise(c, t, qa)
	if qa.Outcome == string(OutcomePartial) {
		r.followUp(c, t, qa)
	}
	if b := r.board.Board(); b.Strategy == blackboard.Stagnating && r.state.Replans >= r.Policy.Retry.Replans {
		r.direct(c, "", blackboard.Steer{Event: blackboard.Progress})
	}
}

// log appends decisions to the design log. One that names no area or unknown tasks is
// dropped with a warning.
func (r *run) log(c *orchestrator.Context, who string, decisions []blackboard.Decision) {
	for _, d := range decisions {
		err := r.change(c, byDirector("", blackboard.AddDecision{Decision: d}))
		if err != nil {
			r.warn(c, "decision", who, "a decision was dropped: %s", err)
		}
	}
}

func (d DecisionPlan) decision() blackboard.Decision {
	return blackboard.Decision{Area: d.Area, AppliesTo: d.AppliesTo, Summary: d.Summary, Reason: d.Reason}
}
