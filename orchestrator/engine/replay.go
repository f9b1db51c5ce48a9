package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Replay is the Port of a run that is resumed. It answers what the flow asks for
// from the log, compares it with what is on record, and reaches the world behind
// the last record: then it hands all to the engine's own Port. An engine calls Step
// after each Advance until it returns false.
type Replay struct {
	*Clock                               // shared with Live
	Questions *Questions                 // shared with Live
	Live      Port                       // behind the log
	Accept    bool                       // requests that differ from the recorded ones
	Request   func(d *CalledData) string // the text of a recorded request, for messages; nil, "": unknown

	h       *History
	next    int                    // of h.recs
	effects map[effectID]*recorded // that the log has a record of
	own     map[ownID]string       // what the flow itself wrote and has not repeated: its kind
	refused map[effectID]*RefusedData
	hashes  map[effectID]string // changed requests that were accepted
	rest    []*Op               // effects without a record, in the order in which they were asked for
	gone    []*Op               // those that the flow gave up
	fresh   []blackboard.Record // what the flow wrote and the log does not have
	queue   []Completion        // of questions
	live    bool
}

// effectID is the identity of an effect in its run.
type effectID struct {
	branch string
	n      int64
}

// recorded is an effect that the log has a record of.
type recorded struct {
	seq     int64
	op      *Op // nil: the flow has not asked for it yet
	dropped bool
}

// ownID is the identity of a record that the flow itself writes: emissions, and what
// is said of an effect, are counted apart.
type ownID struct {
	class string // the kind; "": any that a flow emitted
	effectID
}

func ownIDOf(rec *blackboard.Record) ownID {
	id := ownID{effectID: effectID{rec.Branch, rec.N}}
	switch rec.Kind {
	case blackboard.Asked, blackboard.Withdrawn, blackboard.Changed, blackboard.Refused, blackboard.Lost:
		id.class = rec.Kind
	}
	return id
}

// NewReplay returns a Replay of h. Its exported fields are for the engine to set.
func NewReplay(h *History) (*Replay, error) {
	p := &Replay{h: h, next: 1, effects: map[effectID]*recorded{}, own: map[ownID]string{}}
	for i := range h.recs[1:] {
		rec := &h.recs[i+1]
		id := effectID{rec.Branch, rec.N}
		switch rec.Kind {
		case blackboard.Called, blackboard.Slept, blackboard.Expired:
			p.effects[id] = &recorded{seq: rec.Seq}
			continue
		case blackboard.Used, blackboard.Answered, blackboard.Canceled, blackboard.Resumed, blackboard.Stuck:
			continue
		case blackboard.Changed:
			if p.hashes == nil {
				p.hashes = map[effectID]string{}
			}
			p.hashes[id] = rec.Hash
		case blackboard.Refused:
			d := &RefusedData{}
			if err := json.Unmarshal(rec.Data, d); err != nil {
				return nil, h.damaged(rec.Seq, "%v", err)
			}
			if p.refused == nil {
				p.refused = map[effectID]*RefusedData{}
			}
			p.refused[id] = d
		}
		p.own[ownIDOf(rec)] = rec.Kind
	}
	return p, nil
}

// Step applies the next record to x, whose branches all wait. more is false behind
// the last record.
func (p *Replay) Step(x Execution) (more bool, err error) {
	for {
		if len(p.queue) > 0 {
			c := p.queue[0]
			p.queue = p.queue[1:]
			x.Complete(c)
			return true, nil
		}
		if p.next == len(p.h.recs) {
			return false, nil
		}
		rec := &p.h.recs[p.next]
		p.next++
		if applied, err := p.apply(x, rec); applied || err != nil {
			return true, err
		}
	}
}

// apply tells whether rec changed something for the flow.
func (p *Replay) apply(x Execution, rec *blackboard.Record) (bool, error) {
	switch rec.Kind {
	case blackboard.Called, blackboard.Slept, blackboard.Expired:
		p.Tick(rec.At)
		return p.complete(x, rec)
	case blackboard.Resumed:
		p.Skip(rec.At)
		x.Lose()
		return true, nil
	case blackboard.Used:
		p.Tick(rec.At)
		return true, p.charge(x, rec)
	case blackboard.Answered:
		p.Tick(rec.At)
		waiting, _ := p.Questions.Answer(rec.Name, rec.Data)
		for _, op := range waiting {
			p.forget(op)
			p.queue = append(p.queue, Answer(op, rec.Data))
		}
	case blackboard.Canceled:
		p.Tick(rec.At)
		x.Complete(CanceledBy(rec.Data))
		return true, nil
	}
	return false, nil // the flow's own
}

// complete completes the effect that rec is of.
func (p *Replay) complete(x Execution, rec *blackboard.Record) (bool, error) {
	e := p.effects[effectID{rec.Branch, rec.N}]
	op := e.op
	if op == nil {
		return false, p.diverged(rec, "the flow did not ask for it")
	}
	if err := p.fits(rec, op); err != nil {
		return false, err
	}
	c := Completion{Op: op}
	switch rec.Kind {
	case blackboard.Expired:
		if e.dropped || !p.Questions.Drop(op) {
			return false, nil
		}
		c = Expired(op)
	case blackboard.Called:
		d := p.h.answer(rec.Seq)
		c.Response, c.Err = d.Response, d.Err
		if c.Response == nil && c.Err == nil {
			return false, p.h.damaged(rec.Seq, "it has neither a response nor an error")
		}
	}
	if c.Err == nil || !errors.Is(c.Err, ErrLeft) {
		e.op, e.dropped = nil, true // a branch may use op again
	}
	x.Complete(c)
	return true, nil
}

// charge counts the usage of a call that has no answer, or had it before.
func (p *Replay) charge(x Execution, rec *blackboard.Record) error {
	var d UsedData
	if err := json.Unmarshal(rec.Data, &d); err != nil {
		return p.h.damaged(rec.Seq, "%v", err)
	}
	op := p.find(effectID{rec.Branch, rec.N})
	if op == nil {
		return p.diverged(rec, "the flow did not ask for it")
	}
	x.Charge(op, d.Usage)
	return nil
}

// find is the effect of that identity that the flow asked for, or nil.
func (p *Replay) find(id effectID) *Op {
	if e := p.effects[id]; e != nil {
		return e.op
	}
	for _, ops := range [][]*Op{p.rest, p.gone} {
		if i := slices.IndexFunc(ops, func(op *Op) bool { return op.Branch == id.branch && op.N == id.n }); i >= 0 {
			return ops[i]
		}
	}
	return nil
}

// completes is the kind of the record that completes an effect, by the effect's.
var completes = [...]string{
	Call: blackboard.Called, Child: blackboard.Called, Sleep: blackboard.Slept, Limit: blackboard.Slept, Await: blackboard.Expired,
}

// fits tells whether op is what rec was made for.
func (p *Replay) fits(rec *blackboard.Record, op *Op) error {
	if completes[op.Kind] != rec.Kind || op.Name != rec.Name {
		return p.diverged(rec, "now the flow asks for %s", describe(op))
	}
	if op.Kind != Call {
		return nil
	}
	hash := RequestHash(op.Name, op.Request)
	id := effectID{rec.Branch, rec.N}
	switch {
	case hash == rec.Hash || hash == p.hashes[id] || rec.Hash == "": // a log in memory has none
		delete(p.own, ownID{blackboard.Changed, id})
	case p.Accept:
		p.Emit(blackboard.Record{Kind: blackboard.Changed, Branch: op.Branch, N: op.N, Name: op.Name, Hash: hash})
	default:
		return p.diverged(rec, "now the request to %q differs: %s", op.Name, p.difference(rec, op))
	}
	return nil
}

// difference shows what was asked then, if that is known, and what is asked now.
func (p *Replay) difference(rec *blackboard.Record, op *Op) string {
	then := ""
	if p.Request != nil {
		then = p.Request(p.h.answer(rec.Seq))
	}
	if then == "" {
		then = "hash " + rec.Hash
	}
	parts, err := SplitRequest(op.Request)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("recorded was %s, now it is %s", then, text.Shorten(string(parts[0]), 400))
}

// Start implements Port.
func (p *Replay) Start(op *Op) {
	if p.live {
		p.Live.Start(op)
		return
	}
	if op.Kind == Await {
		if answer, ok := p.Questions.Ask(op); ok {
			p.queue = append(p.queue, Answer(op, answer))
			return
		}
		p.Emit(blackboard.Record{Kind: blackboard.Asked, Branch: op.Branch, N: op.N, Name: op.Name, Data: op.Ask})
	}
	if e := p.effects[effectID{op.Branch, op.N}]; e != nil && e.seq >= int64(p.next) {
		e.op, e.dropped = op, false
		return
	}
	p.rest = append(p.rest, op)
}

// Cancel implements Port.
func (p *Replay) Cancel(op *Op) {
	switch {
	case p.live:
		p.Live.Cancel(op)
	case op.Kind == Child: // it is told by its engine when that has started it
		op.Canceled = true
	case op.Kind == Await && p.Questions.Drop(op):
		p.Emit(blackboard.Record{Kind: blackboard.Withdrawn, Branch: op.Branch, N: op.N, Name: op.Name})
		p.forget(op)
	default:
		p.forget(op)
	}
}

// forget notes that the flow does not wait for op. The record of its end may still
// come.
func (p *Replay) forget(op *Op) {
	if e := p.effects[effectID{op.Branch, op.N}]; e != nil && e.op == op {
		e.dropped = true
		return
	}
	if i := slices.Index(p.rest, op); i >= 0 {
		p.rest = slices.Delete(p.rest, i, i+1)
		p.gone = append(p.gone, op)
	}
}

// Emit implements Port.
func (p *Replay) Emit(rec blackboard.Record) {
	if p.live {
		p.Live.Emit(rec)
		return
	}
	id := ownIDOf(&rec)
	if p.own[id] == rec.Kind {
		delete(p.own, id)
		return
	}
	p.fresh = append(p.fresh, rec) // where the log has another kind, Leftover says so
}

// Recorded implements Port.
func (p *Replay) Recorded(branch string, n int64) Recorded {
	if p.live {
		return Recorded{}
	}
	id := effectID{branch, n}
	r := Recorded{Refused: p.refused[id]}
	if e := p.effects[id]; e != nil && p.h.recs[e.seq].Kind == blackboard.Called {
		r.Made = true
		if a := p.h.answer(e.seq).Reserved; a != nil {
			r.Reserved = *a
		}
	}
	return r
}

// Expose implements Exposer.
func (p *Replay) Expose(state func() (json.RawMessage, error)) {
	if x, ok := p.Live.(Exposer); ok {
		x.Expose(state)
	}
}

// Resumed puts the record that the run is resumed behind the log. Step applies it.
func (p *Replay) Resumed(at time.Time) {
	p.h.recs = append(p.h.recs, blackboard.Record{Run: p.h.Run, Seq: p.h.Next(), Kind: blackboard.Resumed, At: at})
}

// Children are the children under way. It is called behind the last record.
func (p *Replay) Children() []*Op {
	return slices.DeleteFunc(slices.Clone(p.rest), func(op *Op) bool { return op.Kind != Child })
}

// Leftover is what is in the log that the flow did not do again, or nil. It is
// called behind the last record.
func (p *Replay) Leftover() error {
	for i := p.next; i < len(p.h.recs); i++ {
		rec := &p.h.recs[i]
		if e := p.effects[effectID{rec.Branch, rec.N}]; e != nil && e.seq == rec.Seq && e.op == nil {
			return p.diverged(rec, "the flow ended before it")
		}
	}
	if len(p.own) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(p.own)), func(a, b ownID) int {
		return cmp.Or(cmp.Compare(a.branch, b.branch), cmp.Compare(a.n, b.n), cmp.Compare(a.class, b.class))
	})
	return agent.ErrorOf(fmt.Errorf("%w: run %q: recorded was %q by branch %q (number %d), which the flow did not do again",
		ErrDiverged, p.h.Run, p.own[first], first.branch, first.n))
}

// GoLive hands all to Live: what the flow wrote and the log does not have, then the
// effects that have no record. The history can be collected then.
func (p *Replay) GoLive() {
	p.live = true
	fresh, rest := p.fresh, p.rest
	*p = Replay{Clock: p.Clock, Questions: p.Questions, Live: p.Live, live: true}
	for _, rec := range fresh {
		p.Live.Emit(rec)
	}
	for _, op := range rest {
		op.Asked = true
		p.Live.Start(op)
	}
}

func (p *Replay) diverged(rec *blackboard.Record, format string, args ...any) error {
	what := fmt.Sprintf("record %d is %q of effect %s", rec.Seq, rec.Kind, Key(rec.Branch, rec.N))
	if rec.Name != "" {
		what += fmt.Sprintf(" (%s)", rec.Name)
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %s: %s", ErrDiverged, p.h.Run, what, fmt.Sprintf(format, args...)))
}

func describe(op *Op) string {
	switch op.Kind {
	case Call:
		return fmt.Sprintf("a call of agent %q", op.Name)
	case Child:
		return fmt.Sprintf("a child run of flow %q", op.Name)
	case Await:
		return fmt.Sprintf("an answer to the question %q", op.Name)
	case Limit:
		return "a time limit"
	case Sleep:
		return "a sleep"
	default:
		return fmt.Sprintf("an effect of kind %d", op.Kind)
	}
}
