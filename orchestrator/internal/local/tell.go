package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// asks are the states of a run's questions: the newest record of each that tells its
// state, as blackboard.AskState says. The cancel is a question with Key "".
type asks struct {
	mu     sync.Mutex
	newest map[string]blackboard.Record // Seq: in which order they came
	noted  int64
}

// note takes in a record.
func (a *asks) note(rec blackboard.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rec.Kind == blackboard.Canceled || blackboard.AskKind(rec.Kind) && blackboard.AskState(a.newest[rec.Name].Kind, rec) == rec.Kind {
		a.add(rec)
	}
}

// take notes a letter, unless its question takes none any more. What was closed for one
// branch expires for another.
func (a *asks) take(l blackboard.Letter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	state := a.newest[l.Key].Kind
	taken := state == "" || state == blackboard.Asked || l.Expired && state != blackboard.Answered
	if taken {
		a.add(letterRecord(&l).Record)
	}
	return taken
}

func (a *asks) add(rec blackboard.Record) {
	if a.newest == nil {
		a.newest = map[string]blackboard.Record{}
	}
	rec.Seq = a.noted
	a.noted++
	a.newest[rec.Name] = rec
}

// of is the newest record of a question.
func (a *asks) of(key string) blackboard.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.newest[key]
}

// open are the questions that wait for an answer, in the order in which they were
// asked.
func (a *asks) open() (open []engine.Ask, err error) {
	a.mu.Lock()
	recs := slices.Collect(maps.Values(a.newest))
	a.mu.Unlock()
	slices.SortFunc(recs, func(a, b blackboard.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, rec := range recs {
		if rec.Kind != blackboard.Asked {
			continue
		}
		var ask engine.Ask
		if err := decode(&rec, &ask); err != nil {
			return nil, err
		}
		open = append(open, ask)
	}
	return open, nil
}

// letterRecord is the record that a letter becomes.
func letterRecord(l *blackboard.Letter) *record {
	rec := &record{Record: blackboard.Record{Run: l.Run, Kind: blackboard.Answered, Name: l.Key, Data: l.Data}, data: l.Data}
	if l.Expired {
		rec.Kind = blackboard.Expired
	} else if l.Key == "" {
		rec.Kind = blackboard.Canceled
	}
	return rec
}

// logged are the states of questions by the log; key "": of all.
func (e *Engine) logged(ctx context.Context, id, key string) (*asks, error) {
	a := &asks{}
	for rec, err := range e.store.Asks(ctx, id, key) {
		if err != nil {
			return a, err
		}
		a.note(rec)
	}
	return a, nil
}

// question is the newest record that tells the state of a question, or the one that
// a letter will be.
func (e *Engine) question(ctx context.Context, id, key string) (blackboard.Record, error) {
	if r := e.run(id); r != nil { // it knows more than is on record
		if rec := r.asks.of(key); rec.Kind != "" && rec.Kind != blackboard.Asked {
			return rec, nil
		}
	}
	for l, err := range e.store.Letters(ctx, id) { // first, because a letter becomes a record
		if err != nil || l.Key == key {
			return letterRecord(&l).Record, err
		}
	}
	a, err := e.logged(ctx, id, key)
	return a.of(key), err
}

// verdict is what an answer gets whose question is in the state that rec tells. open:
// the question takes it.
func verdict(rec blackboard.Record, answer json.RawMessage) (open bool, err error) {
	switch {
	case rec.Kind == blackboard.Expired:
		err = fmt.Errorf("%w: the question %q has expired", engine.ErrNoQuestion, rec.Name)
	case rec.Kind == blackboard.Withdrawn:
		err = fmt.Errorf("%w: the question %q was withdrawn", engine.ErrNoQuestion, rec.Name)
	case rec.Kind != blackboard.Answered:
		return true, nil
	case equalJSON(rec.Data, answer):
		return false, nil
	default:
		err = fmt.Errorf("%w: the question %q has another answer", engine.ErrAnswered, rec.Name)
	}
	return false, agent.ErrorOf(err)
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Tell implements engine.Driver.
func (e *Engine) Tell(ctx context.Context, id string, c engine.Command) error {
	switch c.Kind {
	case engine.RetryIt:
		return e.retry(ctx, id)
	case engine.CancelIt:
		c.Key = ""
		if done, err := e.cancelStuck(ctx, id, c.Data); done || err != nil {
			return err
		}
	case engine.AnswerIt:
		if r := e.run(id); r != nil {
			if open, err := verdict(r.asks.of(c.Key), c.Data); !open {
				return err
			}
		}
	}
	if err := e.store.Put(ctx, blackboard.Letter{Run: id, Key: c.Key, Data: c.Data}); err != nil {
		return e.refusal(ctx, id, &c, err)
	}
	e.takeLetters(ctx, id)
	return nil
}

// refusal is what a command gets that the inbox did not keep.
func (e *Engine) refusal(ctx context.Context, id string, c *engine.Command, err error) error {
	ended := errors.Is(err, blackboard.ErrEnded)
	switch {
	case errors.Is(err, blackboard.ErrNoRun):
		return noRun(id)
	case !ended && !errors.Is(err, blackboard.ErrConflict):
		return err
	case c.Key == "":
		return nil // it is canceled, or has ended
	}
	rec, err := e.question(ctx, id, c.Key)
	if err != nil {
		return err
	}
	switch open, err := verdict(rec, c.Data); {
	case !open:
		return err
	case ended:
		return agent.ErrorOf(fmt.Errorf("%w: run %q has ended", engine.ErrNoQuestion, id))
	}
	return agent.ErrorOf(fmt.Errorf("%w: the question %q", engine.ErrAnswered, c.Key))
}

// takeLetters puts letters on record for the runs that this engine works on, and
// resumes runs that have letters. id "": all.
func (e *Engine) takeLetters(ctx context.Context, id string) {
	for l, err := range e.store.Letters(ctx, id) {
		r := e.run(l.Run)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				e.cfg.Log.Warn("letters to runs cannot be read", "err", err)
			}
			return
		case r == nil:
			if listing, err := e.store.listing(ctx, l.Run); err == nil {
				e.adoptFor(ctx, &listing)
			}
		case l.Expired || !r.isLive() || !r.asks.take(l):
		case id == "":
			e.pool.do(jobFunc(func() { e.pool.do(r.write(letterRecord(&l))) }))
		default:
			_ = r.writeSync(ctx, letterRecord(&l)) // the letter is kept
		}
	}
}

// retry executes the flow of a stuck run again.
func (e *Engine) retry(ctx context.Context, id string) error {
	l, err := e.store.listing(ctx, id)
	if err == nil && l.Status != blackboard.Stuck {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q is %s, not stuck", engine.ErrMalformed, id, l.Status))
	}
	if err == nil {
		_, err = e.resume(ctx, &l, e.unstop(id), nil)
	}
	return err
}

// cancelStuck ends a stuck run, and stuck runs inside of it, without executing their
// flows. It tells whether the run was stuck.
func (e *Engine) cancelStuck(ctx context.Context, id string, reason json.RawMessage) (stuck bool, err error) {
	err = e.until(ctx, id, func() (bool, error) { // it may stop just now, or be retried
		l, err := e.store.listing(ctx, id)
		stuck = err == nil && l.Status == blackboard.Stuck
		return !stuck || e.run(id) == nil, err
	})
	if err != nil || !stuck {
		return false, err
	}
	return true, e.endStuck(ctx, id, reason)
}

// endStuck ends a run that is stuck, or whose parent is.
func (e *Engine) endStuck(ctx context.Context, id string, reason json.RawMessage) error {
	for l, err := range e.store.List(ctx, blackboard.Query{Parent: id, Open: true}) {
		if err != nil {
			return err
		}
		if child := e.run(l.Run); child != nil {
			<-child.done // it was stopped with its parent
		}
		if err := e.endStuck(ctx, l.Run, reason); err != nil {
			return err
		}
	}
	l, err := e.store.listing(ctx, id)
	if err != nil || l.Ended {
		return err
	}
	end := engine.End{Status: engine.Canceled, Err: engine.CanceledBy(reason).Err}
	for rec, err := range e.store.Records(ctx, id, 0) {
		if err != nil {
			return err
		}
		end.Spent = end.Spent.Add(usageOf(&rec))
	}
	r := newRun(e, id, &engine.Program{Name: l.Flow, Version: l.Version})
	r.records.seq = l.Next
	if err := r.writeSync(ctx, letterRecord(&blackboard.Letter{Data: reason})); err != nil {
		return err
	}
	err = r.writeSync(ctx, &record{Record: blackboard.Record{Kind: blackboard.Ended, Name: l.Flow}, data: engine.EndedData{End: end}})
	r.records.stopped.Store(true)
	e.unstop(id)
	return err
}

// usageOf is what the call used that rec is of.
func usageOf(rec *blackboard.Record) providers.Usage {
	var d struct {
		engine.UsedData
		engine.CalledData
	}
	if rec.Kind == blackboard.Called || rec.Kind == blackboard.Used {
		_ = json.Unmarshal(rec.Data, &d)
	}
	return d.UsedData.Usage.Add(d.CalledData.Usage())
}
