package delivery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// project calls the workspace, and retries a failed call. Without a workspace it does
// nothing.
func project[T any](r *run, c *orchestrator.Context, op string, until time.Duration, input any) (T, error) {
	return try(r, c, trying{r.Agents.Workspace, until, about(op, "")}, func(name, _ string) (v T, err error) {
		req := agent.Request{Op: op, Prompt: r.begun(), Limits: agent.Limits{Attempts: 1, Total: max(callTime(r.limit, c.Elapsed(), r.grace), time.Second)}}
		if input != nil {
			req.Input = agent.JSON(input)
		}
		resp, err := c.Call(name, req)
		if err != nil || len(resp.Data) == 0 {
			return v, err
		}
		if err = json.Unmarshal(resp.Data, &v); err != nil {
			err = agent.ErrorOf(fmt.Errorf("%w: the workspace's answer to %s: %w", orchestrator.ErrMalformed, op, err))
		}
		return v, err
	})
}

// begun distinguishes this run from one of the same ID whose log was deleted: its calls
// have the same keys.
func (r *run) begun() string {
	return "for the run that began at " + r.state.StartTime.Format(time.RFC3339Nano)
}

// broken returns what an error of the workspace means for the part of the run that needs it: it
// fails, unless the error ends more.
func (r *run) broken(c *orchestrator.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	if err = r.cause(c, err); stops(err) {
		return err
	}
	why := "the workspace could not " + op
	r.warn(c, "workspace", op, "%s: %s", why, err)
	return setback{then: lost, why: why}
}

// keep records the state of the project before a step.
func (r *run) keep(c *orchestrator.Context, w *work) error {
	if r.Agents.Workspace == "" {
		return nil
	}
	if err := r.goBack(c); err != nil {
		return err
	}
	if r.state.Unrestored {
		return setback{then: lost, why: "the workspace could not be restored"}
	}
	snap, err := project[Snapshot](r, c, OpSnapshot, w.end, SnapshotRequest{})
	w.base = snap.ID
	if err == nil && r.state.Snapshot == "" {
		r.state.Snapshot = snap.ID // it is the first step of all
	}
	if w.start = w.base; err != nil || w.kept == nil {
		return r.broken(c, OpSnapshot, err)
	}
	why, err := r.apply(c, *w.kept)
	if err != nil || why != "" {
		return cmp.Or[error](err, setback{then: lost, why: why})
	}
	snap, err = project[Snapshot](r, c, OpSnapshot, w.end, SnapshotRequest{})
	w.start = snap.ID
	return r.broken(c, OpSnapshot, err)
}

// apply writes code into the project. A reason: a path was refused.
func (r *run) apply(c *orchestrator.Context, out CodeOutput) (refused string, err error) {
	if r.Agents.Workspace == "" {
		return "", nil
	}
	_, err = project[struct{}](r, c, OpApply, r.limit, ApplyRequest{slices.Concat([]File{}, out.Files, out.Tests)})
	if errors.Is(err, ErrUnsafePath) {
		return "a file was refused: " + prompt.OneLine(err.Error()), nil
	}
	return "", r.broken(c, OpApply, err)
}

// runTests runs the project's tests, and records the result; nil: there is no project.
func (r *run) runTests(c *orchestrator.Context, w *work) (*TestResult, error) {
	if r.Agents.Workspace == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	res, err := project[TestResult](r, c, OpTest, w.end, nil)
	if err != nil {
		return nil, r.broken(c, OpTest, err)
	}
	r.emit(c, EventProjectTested, Event{Header: Header{Target: w.target()}, Tests: &res})
	r.tell(r.title(w.target()), res.turn())
	return &res, nil
}

// restore restores the project to a snapshot; "": there is none, and nothing happens.
func (r *run) restore(c *orchestrator.Context, id string) error {
	if r.Agents.Workspace == "" || id == "" {
		return nil
	}
	_, err := project[struct{}](r, c, OpRestore, r.limit, Snapshot{ID: id})
	r.state.Unrestored = err != nil
	return r.broken(c, OpRestore, err)
}

// accept records what an accepted step changed. After a step of a root plan, a later run
// continues from that state.
func (r *run) accept(c *orchestrator.Context, w *work) error {
	if r.Agents.Workspace == "" {
		return nil
	}
	snap, err := project[Snapshot](r, c, OpSnapshot, r.limit, SnapshotRequest{Since: w.base})
	if w.Depth == 0 {
		r.state.Snapshot = snap.ID // "" after an error: an older one would undo the step
	}
	if err == nil {
		r.emit(c, EventProjectChanged, about(w.ID, snap.Diff))
		r.out.Changes = append(r.out.Changes, change(r.title(w.ID), snap.Diff))
	}
	return tolerated(r.broken(c, OpSnapshot, err))
}

// goBack restores the project first of all, if an earlier run could not.
func (r *run) goBack(c *orchestrator.Context) error {
	if !r.state.Unrestored {
		return nil
	}
	return tolerated(r.restore(c, r.state.Snapshot))
}

// restoreTime is how long the workspace may take to restore the project at the end.
const restoreTime = 30 * time.Second

// restoreAccepted restores the project to the last accepted step, at the end of a run that
// did not reach its goal.
func (r *run) restoreAccepted(c *orchestrator.Context) {
	if r.Agents.Workspace == "" || r.state.Snapshot == "" {
		return
	}
	c = c.WithoutCancel()
	_, err := c.Call(r.Agents.Workspace, agent.Request{
		Op: OpRestore, Prompt: r.begun(), Input: agent.JSON(Snapshot{ID: r.state.Snapshot}), Limits: agent.Limits{Attempts: 1, Total: restoreTime},
	})
	if r.state.Unrestored = err != nil; r.state.Unrestored {
		r.warn(c, "workspace", OpRestore, "the workspace could not be restored: %s", err)
	}
}
