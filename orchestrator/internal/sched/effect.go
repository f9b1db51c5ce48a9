package sched

import (
	"encoding/json"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// Use says for what an effect is made: under which budget, and whether a cancel
// of the run or an empty budget holds it up.
type Use struct {
	Scope    *Scope
	Shielded bool
}

// Do makes an effect and waits for it. Branch, N and Owner of op are set here.
func (b *Branch) Do(u Use, op engine.Op) engine.Completion {
	if err := b.Check(); err != nil {
		return engine.Completion{Err: err}
	}
	if b.canceled != nil && !u.Shielded {
		return engine.Completion{Err: b.canceled}
	}
	e := b.effect(u, op)
	if err := u.Scope.admit(e); err != nil {
		return engine.Completion{Err: err}
	}
	e.Branch, e.N, e.Owner = b.path, b.effects, e
	b.effects++
	if op.Kind == engine.Child && op.Input.Run != "" {
		e.Input.Run = op.Input.Run + "/" + e.Key()
	}
	b.s.waiting++
	b.start = e // the driver begins it
	return b.await(e)
}

// effect is op as an effect of b; the last one is used again where it can be.
func (b *Branch) effect(u Use, op engine.Op) *effect {
	e := b.spare
	b.spare = nil
	if e == nil {
		e = &effect{}
	}
	op.Private = e.Private
	e.Op, e.branch, e.scope, e.shielded = op, b, u.Scope, u.Shielded
	return e
}

// Now is the time of the last completion, and how long the run had been worked on
// by then.
func (b *Branch) Now() (time.Time, time.Duration) { return b.s.port.Now() }

// Err is why the branch is canceled, or nil.
func (b *Branch) Err() *agent.Error { return b.canceled }

// Emit puts a record of the flow's own into the log.
func (b *Branch) Emit(kind string, data json.RawMessage) {
	b.s.port.Emit(blackboard.Record{Branch: b.path, N: b.emits, Kind: kind, Data: data})
	b.emits++
}

// Expose tells the engine how to read the run's state.
func (b *Branch) Expose(state func() (json.RawMessage, error)) {
	if x, ok := b.s.port.(engine.Exposer); ok {
		x.Expose(state)
	}
}
