package local

import (
	"context"
	"errors"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// child carries a run inside a run out, or goes on with it where its log is there,
// and puts its end into the parent's log.
func (r *run) child(op *engine.Op, f *flight) {
	in := op.Input
	in.Parent = r.id
	if err := r.e.Start(r.ctx, *op.Child, in); err != nil {
		r.childFailed(op, err)
		return
	}
	f.begun.Store(true)
	if f.wanted.Load() { // its parent gave it up before it was there to be told
		r.cancelChild(in.Run)
	}
	end, err := r.e.Wait(r.ctx, in.Run)
	if err != nil {
		r.childFailed(op, err)
		return
	}
	told := engine.End{Status: end.Status, Output: end.Output, Err: end.Err} // the child's log has the rest
	r.childCalled(op, agent.Response{Data: agent.JSON(told), Usage: end.Spent}, nil)
}

// childCalled puts what became of a child into the parent's log.
func (r *run) childCalled(op *engine.Op, resp agent.Response, err *agent.Error) {
	r.write(&entry{r: r, kind: blackboard.Called, op: op, branch: op.Branch, n: op.N, name: op.Name, at: now(), resp: resp, err: err}).carryOn()
}

// childFailed ends op with err if that is a result, such as a missing agent. A child
// that was stopped stops its parent.
func (r *run) childFailed(op *engine.Op, err error) {
	if r.ctx.Err() != nil {
		return
	}
	if errors.Is(err, engine.ErrNoAgent) {
		r.childCalled(op, agent.Response{}, agent.ErrorOf(err))
		return
	}
	r.stop(agent.ErrorOf(err))
}

// cancelChild tells a child to end.
func (r *run) cancelChild(id string) {
	err := r.e.Tell(context.WithoutCancel(r.ctx), id, engine.Command{Data: agent.JSON("its parent was canceled or has ended")})
	if err != nil && !errors.Is(err, engine.ErrNoRun) {
		r.e.cfg.Log.Warn("child run cannot be canceled", "run", id, "err", err)
	}
}
