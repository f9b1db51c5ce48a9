package sched

import (
	"container/list"
	"encoding/json"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Options say which budget an effect is made under, and whether a cancel or an
// empty budget stops it.
type Options struct {
	Scope    *Scope
	Shielded bool
}

// effect is an op with the branch that waits for it. Its branch uses it again for
// the next effect if the engine cannot hold it any more.
type effect struct {
	engine.Op
	branch *Branch
	scope  *Scope
	seq    int64 // in the order in which effects were asked for; 0: not yet

	response *agent.Response // its result
	err      *agent.Error
	end      *engine.End

	known engine.Recorded   // what the log knows of a call or a child
	cost  providers.NanoUSD // of a capped call: Limits.Cost as the flow set it
	held  amounts           // the share of a child; of what was left behind: what counts as lost
	class *class            // of a call that waits for room in a budget
	place *list.Element     // in the queue of those

	shielded bool
	timed    bool   // it is one of the live effects of scope.due
	started  bool   // the engine has it
	admitted bool   // a call that budgets let pass; unless it is shielded, they hold what it reserves
	guessed  bool   // it counts in the guesses of its agent
	alone    limits // budgets with these limits are its own
	capped   bool   // its Limits.Cost is a budget's
	charged  bool   // what it used was charged before its completion
	told     bool   // the engine was told to cancel it
	settled  bool   // its completion has come, or it was lost
	left     bool   // it was left behind
	pinned   bool   // it is not used again: the engine or Sched.refusals may hold it
}

// budgeted reports whether limits on calls, tokens and cost apply to e.
func (e *effect) budgeted() bool { return e.Kind == engine.Call || e.Kind == engine.Child }

// recorded reports whether the log knows e.
func (e *effect) recorded() bool { return e.known.Made || e.known.Refused != nil }

// dead reports whether no branch waits for e any more.
func (e *effect) dead() bool { return e.branch.wait != e }

// Op is an effect of b, to be described and then done. It is b's until Do returns.
func (b *Branch) Op(kind engine.Kind, name string) *engine.Op {
	var e *effect
	if b.s.cur.Load() == b { // else Do says what is wrong
		e, b.spare = b.spare, nil
	}
	if e == nil {
		e = &effect{}
		e.Owner = e
	}
	e.Kind, e.Name = kind, name
	return &e.Op
}

// Do makes an effect, which Op made, and waits for it. Branch and N of op are set
// here; of a child also what its Input says of budgets.
func (b *Branch) Do(o Options, op *engine.Op) engine.Completion {
	e, ok := op.Owner.(*effect)
	if err := b.Check(); err != nil {
		return engine.Completion{Err: err}
	}
	switch {
	case !ok || e.branch != nil:
		b.Fault("an effect is done that Branch.Op did not make, or that is done already")
		return engine.Completion{Err: b.s.fault.Load()}
	case b.canceled != nil && !o.Shielded:
		b.recycle(e)
		return engine.Completion{Err: b.canceled}
	case e.Kind == engine.Child && b.s.depth >= engine.MaxDepth:
		b.recycle(e)
		return engine.Completion{Err: errTooDeep}
	}
	e.branch, e.scope, e.shielded = b, o.Scope, o.Shielded
	e.Branch, e.N = b.path, b.effects
	b.effects++
	b.wait = e // execute begins it: not on b's stack, which stays small
	b.block()
	c := engine.Completion{Response: e.response, Err: e.err, End: e.end}
	if (e.settled || !e.started) && !e.pinned && e.Kind != engine.Await { // the end of a question's time may still come
		b.recycle(e)
	}
	return c
}

var errTooDeep = flowError("child runs are nested more than %d deep: does the flow start itself?", engine.MaxDepth)

// recycle keeps e for the next effect of b, with what the engine left in it.
func (b *Branch) recycle(e *effect) {
	*e = effect{Op: engine.Op{Private: e.Private, Owner: e}}
	b.spare = e
}

// begin makes e known to budgets and to the engine. It returns false where e is
// refused: its branch continues at once.
func (s *Sched) begin(e *effect) bool {
	s.asked++
	e.seq = s.asked
	if e.err = s.ask(e); e.err != nil {
		e.branch.wait = nil
		return false
	}
	s.waiting++
	s.time(e)
	return true
}

func (s *Sched) start(e *effect) {
	if !e.started {
		e.started = true
		s.port.Start(&e.Op)
	}
}

// cancel tells the engine, once, that the result of e is not wanted any more.
func (s *Sched) cancel(e *effect) {
	if e.started && !e.told {
		e.told, e.pinned = true, true
		s.port.Cancel(&e.Op)
	}
}

// resolve gives the branch of e its result.
func (s *Sched) resolve(e *effect, c engine.Completion) {
	e.response, e.err, e.end = c.Response, c.Err, c.End
	e.branch.wait = nil
	s.untime(e)
	s.waiting--
	s.ready = append(s.ready, e.branch)
}

// abandon cancels e: its branch continues with the error. A call is settled when
// its completion comes. A child is told to end and waited for, so that what it has
// so far is not lost.
func (s *Sched) abandon(e *effect, why *agent.Error) {
	s.untime(e)
	s.queue.remove(e)
	s.cancel(e)
	if e.Kind == engine.Child {
		return
	}
	if e.Kind == engine.Call && e.started {
		s.dropped[e] = true
	}
	s.resolve(e, engine.Completion{Err: why})
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
