package trees

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// Client asks an [Agent] for a team. It asks a second time if an operation fails: a further
// attempt or a person costs more, and a merge that failed may be on the branch already.
// Commits, merges and removals are made also if the run is over.
type Client struct {
	Agent string        // name of the Agent in the roster
	Time  time.Duration // limit of an operation
}

// Open begins a run.
func (a Client) Open(c *orchestrator.Context) (Opened, error) {
	return ask[Opened](c, a, OpOpen, struct{}{})
}

// Create makes the worktree of an attempt.
func (a Client) Create(c *orchestrator.Context, req CreateRequest) (Created, error) {
	return ask[Created](c, a, OpCreate, req)
}

// Commit commits the changes in a worktree.
func (a Client) Commit(c *orchestrator.Context, req CommitRequest) (Committed, error) {
	return ask[Committed](c.WithoutCancel(), a, OpCommit, req)
}

// Inspect reads an artifact, and what its commit would change.
func (a Client) Inspect(c *orchestrator.Context, req InspectRequest) (Inspected, error) {
	return ask[Inspected](c, a, OpInspect, req)
}

// Merge merges a commit, or prepares that.
func (a Client) Merge(c *orchestrator.Context, req MergeRequest) (Merged, error) {
	return ask[Merged](c.WithoutCancel(), a, OpMerge, req)
}

// Remove removes worktrees, and with Branches their branches.
func (a Client) Remove(c *orchestrator.Context, req RemoveRequest) error {
	_, err := ask[struct{}](c.WithoutCancel(), a, OpRemove, req)
	return err
}

// ask makes a call, and a second one if that fails.
func ask[T any](c *orchestrator.Context, a Client, op string, input any) (v T, err error) {
	limit := a.Time
	if left := c.Left().Wall; left > 0 && left <= limit {
		limit = 0 // the engine ends the call, and that is no failure of the Agent
	}
	// Without an estimate, calls would wait for those that cost money.
	req := agent.Request{Op: op, Input: agent.JSON(input), Limits: agent.Limits{Total: limit, Estimate: 1}}
	resp, err := c.Call(a.Agent, req)
	if err != nil && !team.Ends(err) {
		resp, err = c.Call(a.Agent, req)
	}
	if err == nil {
		if err = json.Unmarshal(resp.Data, &v); err != nil {
			err = agent.ErrorOf(fmt.Errorf("%w: the answer of the worktree agent to %s: %w", orchestrator.ErrMalformed, op, err))
		}
	}
	if errors.Is(err, orchestrator.ErrTimeout) && !team.Ends(err) {
		err = fmt.Errorf("%w (Bounds.CallTime is %v)", err, a.Time)
	}
	return v, err
}
