package local

import (
	"fmt"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/engine"
)

// replay hands out the next completion of the log; false: there is nothing to hand
// out yet. Behind the last record the run is live: only then are agents called.
func (r *run) replay() (engine.Completion, bool, error) {
	h := r.past
	if err := r.inbox.failure(); err != nil {
		return engine.Completion{}, false, err
	}
	if h.next == len(h.recs) {
		return engine.Completion{}, false, r.goLive()
	}
	rec := h.recs[h.next]
	h.next++
	if rec.Kind == blackboard.Resumed {
		r.skip(rec.At)
		return engine.Completion{}, false, nil
	}
	r.tick(rec.At)
	switch rec.Kind {
	case blackboard.Answered:
		r.answer(rec.Name, rec.Data)
		return engine.Completion{}, false, nil
	case blackboard.Canceled:
		return engine.Completion{Err: canceledBy(rec.Data)}, true, nil
	}
	return r.recorded(rec)
}

// recorded completes the effect that rec is of.
func (r *run) recorded(rec blackboard.Record) (engine.Completion, bool, error) {
	h := r.past
	id := effectID{rec.Branch, rec.N}
	op, dropped := h.pending[id], false
	if op == nil {
		op, dropped = h.dropped[id], true
	}
	if op == nil {
		return engine.Completion{}, false, h.diverged(rec, "the flow did not ask for it")
	}
	if err := r.fits(rec, op); err != nil {
		return engine.Completion{}, false, err
	}
	delete(h.pending, id)
	delete(h.dropped, id)
	c := engine.Completion{Op: op}
	switch rec.Kind {
	case blackboard.Expired:
		if dropped {
			return c, false, nil
		}
		r.unask(op)
		c.Err = expired(op)
	case blackboard.Called:
		d := h.answer(rec)
		c.Err = d.Err
		if d.Response != nil {
			c.Response = *d.Response
		}
	}
	return c, true, nil
}

// completes is the kind of the record that completes an effect, by the effect's.
var completes = [...]string{
	engine.Call: blackboard.Called, engine.Child: blackboard.Called, engine.Sleep: blackboard.Slept,
	engine.Limit: blackboard.Slept, engine.Await: blackboard.Expired,
}

// fits tells whether op is what rec was made for.
func (r *run) fits(rec blackboard.Record, op *engine.Op) error {
	h := r.past
	if completes[op.Kind] != rec.Kind || op.Name != rec.Name {
		return h.diverged(rec, "now the flow asks for %s", describe(op))
	}
	if op.Kind != engine.Call {
		return nil
	}
	hash := requestHash(op.Name, op.Request)
	id := effectID{rec.Branch, rec.N}
	if hash == rec.Hash || hash == h.hashes[id] {
		r.confirm(id)
		return nil
	}
	if !r.e.cfg.AcceptChanged {
		return h.diverged(rec, "now the request to %q differs: %s", op.Name, r.difference(rec, op))
	}
	r.own(blackboard.Record{Kind: blackboard.Changed, Branch: op.Branch, N: op.N, Name: op.Name, Hash: hash})
	return nil
}

// confirm takes the note that a changed request was accepted as repeated.
func (r *run) confirm(id effectID) { delete(r.past.own, identity{'c', id}) }

func describe(op *engine.Op) string {
	switch op.Kind {
	case engine.Call:
		return fmt.Sprintf("a call of agent %q", op.Name)
	case engine.Child:
		return fmt.Sprintf("a child run of flow %q", op.Name)
	case engine.Await:
		return fmt.Sprintf("an answer to the question %q", op.Name)
	case engine.Limit:
		return "a time limit"
	case engine.Sleep:
		return "a sleep"
	default:
		return fmt.Sprintf("an effect of kind %d", op.Kind)
	}
}

// goLive begins what the log has no record of.
func (r *run) goLive() error {
	h := r.past
	if err := h.leftover(); err != nil {
		return err
	}
	r.past = nil
	for _, op := range h.order {
		id := effectID{op.Branch, op.N}
		if h.pending[id] == op { // an op that is used again stands there more than once
			delete(h.pending, id)
			r.launch(op)
		}
	}
	r.takeLetters(r.ctx)
	return nil
}
