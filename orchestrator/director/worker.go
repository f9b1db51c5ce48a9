package director

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/blackboard/worktree"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director/trees"
	"github.com/convene-go/convene/providers"
)

// workerTurns is how often the model of a worker may be asked in one attempt, whose time
// and whose Guardian are its real limits.
const workerTurns = 500

// ModelWorker is a worker that is a model with tools: see [Worker].
type ModelWorker struct {
	agent.LLM
}

// Worker returns the agent of a profile whose work is done by a model with tools. It is
// an [agent.LLM] for long work in slices, over which the Guardian watches. With worktrees,
// each slice begins with the worktree as the last one left it, so that one that is made
// again after a crash starts clean; tools find the folder by [trees.PlaceFrom]. Set Compact of it
// for work that outgrows the model's window: the next slice, and the memory of the task,
// go on from the shorter conversation.
func Worker(model providers.Model, tools ...agent.Tool) ModelWorker {
	return ModelWorker{agent.LLM{Model: model, Tools: tools, MaxTurns: workerTurns}}
}

// Call implements [agent.Agent]. It makes the worktree clean, and takes out of a further
// slice's request what is not for the model.
func (w ModelWorker) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	var in struct {
		Worktree *trees.Place `json:"worktree"`
	}
	if len(req.Input) > 0 {
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return agent.Response{}, fmt.Errorf("director: read Input: %w", err)
		}
	}
	if in.Worktree != nil {
		if err := worktree.ResetFolder(ctx, in.Worktree.Path, in.Worktree.Branch, in.Worktree.Commit); err != nil {
			return agent.Response{}, fmt.Errorf("director: %w", err)
		}
		ctx = trees.WithPlace(ctx, *in.Worktree)
	}
	if req.Op == opContinue {
		req.Input = nil // its prompt and its history say it
	}
	return w.LLM.Call(ctx, req)
}
