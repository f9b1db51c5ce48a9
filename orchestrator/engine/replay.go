package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
)

// Replay is the Port of a run that is resumed. It answers what the flow asks for
// from the log, compares it with what is on record, and reaches the world behind
// the last record: then it hands all to the engine's own Port. An engine calls Step
// after each Advance until it returns false.
type Replay struct {
	Started StartedData     // Data of the Started record, and the ID of the run
	Records []runlog.Record // the log
	Stuck   string          // why the flow failed the last time; "": it did not

	*Clock                               // time of the run, shared with Live
	Questions *Questions                 // questions of the run, shared with Live
	Live      Port                       // the engine's own, behind the log
	Accept    bool                       // requests may differ from the recorded ones
	Request   func(d *CalledData) string // the text of a recorded request, for messages; nil, "": unknown

	answers [][]CalledData         // answers in Records, by Seq, in parts of equal length
	next    int                    // index of the next one of Records
	effects map[effectID]*onRecord // effects that the log or the flow knows
	own     map[ownID]own          // records that the flow itself wrote and has not repeated
	fault   error                  // how the flow differs from the log; nil: it does not yet
	rest    []*Op                  // effects without a record, in the order in which they were asked for
	fresh   []runlog.Record        // records that the flow wrote and the log does not have
	givenUp []*Op                  // calls of rest that the flow does not want any more
	resumed int64                  // Seq of the record that Resumed put behind the log; 0: none
	behind  bool                   // the record of Resumed is applied: no process makes calls of this run
	live    bool
	anew    string // key of the first question that is asked anew; "": none
}

// effectID is the identity of an effect in its run.
type effectID struct {
	branch string
	n      int64
}

// onRecord is what the log knows of an effect, and the flow of it now.
type onRecord struct {
	op      *Op   // nil: the flow has not asked for it yet, or it is complete
	seq     int64 // Seq of the record that completes it; 0: there is none
	refused *RefusedData
	hash    string // hash of a changed request that was accepted; "": none was
}

// ownID is the identity of a record that the flow itself writes: emissions, and what
// is said of an effect, are counted apart.
type ownID struct {
	class string // the kind; "": any that a flow emitted
	effectID
}

// own is what the log knows of a record that the flow itself wrote.
type own struct {
	kind string
	hash string // hash of the question of an Asked record; else ""
	seq  int64
}

func ownIDOf(rec *runlog.Record) ownID {
	id := ownID{effectID: effectID{rec.Branch, rec.N}}
	switch rec.Kind {
	case runlog.Asked, runlog.Withdrawn, runlog.Changed, runlog.Refused, runlog.Lost:
		id.class = rec.Kind
	}
	return id
}

func (p *Replay) effect(branch string, n int64) *onRecord {
	id := effectID{branch, n}
	e := p.effects[id]
	if e == nil {
		e = &onRecord{}
		p.effects[id] = e
	}
	return e
}

// Step applies the next record to x, whose branches all wait. more is false behind
// the last record.
func (p *Replay) Step(x Execution) (more bool, err error) {
	for applied := false; !applied && err == nil; {
		if p.fault != nil {
			return false, p.fault
		}
		if c, ok := p.Questions.Next(); ok {
			x.Complete(c)
			return true, nil
		}
		if p.next == len(p.Records) {
			return false, nil
		}
		p.next++
		applied, err = p.apply(x, &p.Records[p.next-1])
	}
	return true, err
}

// apply tells whether rec changed something for the flow.
func (p *Replay) apply(x Execution, rec *runlog.Record) (bool, error) {
	switch rec.Kind {
	case runlog.Resumed:
		p.Skip(rec.At)
		x.Lose()
		p.behind = rec.Seq == p.resumed
		return true, nil
	case runlog.Called, runlog.Slept, runlog.Expired, runlog.Used:
		p.Tick(rec.At)
		return p.complete(x, rec)
	case runlog.Answered:
		p.Tick(rec.At)
		for _, op := range p.Questions.Answer(rec.Name, rec.Hash, rec.Data) {
			p.forget(op)
		}
	case runlog.Canceled:
		p.Tick(rec.At)
		x.Complete(CanceledBy(rec.Data))
		return true, nil
	}
	return false, nil // the flow's own
}

// complete completes or charges the effect that rec is of.
func (p *Replay) complete(x Execution, rec *runlog.Record) (bool, error) {
	e := p.effects[effectID{rec.Branch, rec.N}]
	if e == nil || e.op == nil {
		return false, p.diverged(rec, "the flow did not ask for it")
	}
	if rec.Kind == runlog.Used {
		var d UsedData
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			return false, p.damaged(rec.Seq, "%v", err)
		}
		x.Charge(e.op, d.Usage)
		return true, nil
	}
	if err := p.fits(rec, e); err != nil {
		return false, err
	}
	c := Completion{Op: e.op}
	switch rec.Kind {
	case runlog.Expired:
		if !p.Questions.Drop(e.op) {
			return false, nil
		}
		c = Expired(e.op)
	case runlog.Called:
		d := p.answer(rec.Seq)
		c.Response, c.Err = d.Response, d.Err
		if c.Response == nil && c.Err == nil {
			return false, p.damaged(rec.Seq, "it has neither a response nor an error")
		}
	}
	if c.Err == nil || !errors.Is(c.Err, ErrLeft) {
		e.op = nil // a branch may use it again
	}
	x.Complete(c)
	return true, nil
}

// Start implements Port.
func (p *Replay) Start(op *Op) {
	if p.live {
		p.Live.Start(op)
		return
	}
	if op.Kind == Await && !p.Questions.Ask(p, op) {
		return
	}
	e := p.effect(op.Branch, op.N)
	if e.op = op; e.seq < int64(p.next) {
		p.rest = append(p.rest, op)
	}
}

// Cancel implements Port.
func (p *Replay) Cancel(op *Op) {
	switch {
	case p.live:
		p.Live.Cancel(op)
		return
	case op.Kind == Child: // it is told by its engine when that has started it
		op.Canceled = true
		return
	case op.Kind == Call && p.behind: // no record of its end will come, unless Live makes one
		p.givenUp = append(p.givenUp, op)
		return
	case op.Kind == Await && p.Questions.Drop(op):
		p.Emit(runlog.Record{Kind: runlog.Withdrawn, Branch: op.Branch, N: op.N, Name: op.Name})
	}
	p.forget(op)
}

// forget notes that the flow does not wait for op. The record of its end may still
// come.
func (p *Replay) forget(op *Op) {
	if i := slices.Index(p.rest, op); i >= 0 {
		p.rest = slices.Delete(p.rest, i, i+1)
	}
}

// Emit implements Port.
func (p *Replay) Emit(rec runlog.Record) {
	if p.live {
		p.Live.Emit(rec)
		return
	}
	id := ownIDOf(&rec)
	there := p.own[id]
	if there.kind != rec.Kind {
		p.fresh = append(p.fresh, rec) // where the log has another kind, Leftover says so
		return
	}
	delete(p.own, id)
	if rec.Kind == runlog.Asked {
		p.repeatAsk(&rec, there)
	}
}

// Recorded implements Port.
func (p *Replay) Recorded(branch string, n int64) (r Recorded) {
	e := p.effects[effectID{branch, n}]
	if e == nil {
		return r
	}
	r.Refused = e.refused
	if r.Made = p.Records[e.seq].Kind == runlog.Called; r.Made && p.answer(e.seq).Reserved != nil {
		r.Reserved = *p.answer(e.seq).Reserved
	}
	return r
}

// Expose implements Port.
func (p *Replay) Expose(state func() (json.RawMessage, error)) { p.Live.Expose(state) }

// Resumed puts the record that the run is resumed behind the log. Step applies it.
func (p *Replay) Resumed(at time.Time) {
	p.resumed = int64(len(p.Records))
	p.Records = append(p.Records, runlog.Record{Run: p.Started.Run, Seq: p.resumed, Kind: runlog.Resumed, At: at})
}

// Children are the children under way. It is called behind the last record.
func (p *Replay) Children() []*Op {
	return slices.DeleteFunc(slices.Clone(p.rest), func(op *Op) bool { return op.Kind != Child })
}

// Leftover is what is in the log that the flow did not do again, or nil. It is
// called behind the last record.
func (p *Replay) Leftover() error {
	if p.fault != nil {
		return p.fault
	}
	for i := p.next; i < len(p.Records); i++ {
		rec := &p.Records[i]
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
		ErrDiverged, p.Started.Run, p.own[first].kind, first.branch, first.n))
}

// GoLive hands all to Live: what the flow wrote and the log does not have, then the
// effects that have no record, and which of them are given up. The history can be
// collected then.
func (p *Replay) GoLive() {
	fresh, rest, givenUp := p.fresh, p.rest, p.givenUp
	*p = Replay{Stuck: p.Stuck, Clock: p.Clock, Questions: p.Questions, Live: p.Live, live: true}
	for _, rec := range fresh {
		p.Live.Emit(rec)
	}
	for _, op := range rest {
		op.Asked = true
		p.Live.Start(op)
	}
	for _, op := range givenUp {
		p.Live.Cancel(op)
	}
}
