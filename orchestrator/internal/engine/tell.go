package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/jobs"
	"github.com/convene-go/convene/orchestrator/internal/journal"
	"github.com/convene-go/convene/providers"
)

// asks are the states of a run's questions: the newest record of each that tells its
// state, as runlog.AskState says. The cancel is a question with Key "".
type asks struct {
	mu     sync.Mutex
	newest map[string]runlog.Record // Seq: in which order they came
	noted  int64
}

// note takes in a record.
func (a *asks) note(rec runlog.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if rec.Kind == runlog.Canceled || runlog.AskKind(rec.Kind) && runlog.AskState(a.newest[rec.Name].Kind, rec) == rec.Kind {
		a.add(rec)
	}
}

// take notes a letter, unless its question takes none any more. What was closed for one
// branch expires for another.
func (a *asks) take(l runlog.Letter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	state := a.newest[l.Key].Kind
	taken := state == "" || state == runlog.Asked || l.Expired && state != runlog.Answered
	if taken {
		a.add(letterRecord(&l))
	}
	return taken
}

func (a *asks) add(rec runlog.Record) {
	if a.newest == nil {
		a.newest = map[string]runlog.Record{}
	}
	rec.Seq = a.noted
	a.noted++
	a.newest[rec.Name] = rec
}

// of is the newest record of a question.
func (a *asks) of(key string) runlog.Record {
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
	slices.SortFunc(recs, func(a, b runlog.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, rec := range recs {
		if rec.Kind != runlog.Asked {
			continue
		}
		var ask engine.Ask
		if err := journal.Decode(&rec, &ask); err != nil {
			return nil, err
		}
		open = append(open, ask)
	}
	return open, nil
}

// letterRecord is the record that a letter becomes.
func letterRecord(l *runlog.Letter) runlog.Record {
	rec := runlog.Record{Run: l.Run, Kind: runlog.Answered, Name: l.Key, Data: l.Data}
	if l.Expired {
		rec.Kind = runlog.Expired
	} else if l.Key == "" {
		rec.Kind = runlog.Canceled
	}
	return rec
}

// logged are the states of questions by the log; key "": of all.
func (e *Engine) logged(ctx context.Context, id, key string) (*asks, error) {
	a := &asks{}
	for rec, err := range e.journal.Asks(ctx, id, key) {
		if err != nil {
			return a, err
		}
		a.note(rec)
	}
	return a, nil
}

// question is the newest record that tells the state of a question, or the one that
// a letter will be.
func (e *Engine) question(ctx context.Context, id, key string) (runlog.Record, error) {
	if r := e.find(id); r != nil { // it knows more than is on record
		if rec := r.asks.of(key); rec.Kind != "" && rec.Kind != runlog.Asked {
			return rec, nil
		}
	}
	for l, err := range e.journal.Letters(ctx, id) { // first, because a letter becomes a record
		if err != nil || l.Key == key {
			return letterRecord(&l), err
		}
	}
	a, err := e.logged(ctx, id, key)
	return a.of(key), err
}

// verdict is what an answer gets whose question is in the state that rec tells. open:
// the question takes it.
func verdict(rec runlog.Record, answer json.RawMessage) (open bool, err error) {
	switch {
	case rec.Kind == runlog.Expired:
		err = fmt.Errorf("%w: the question %q has expired", engine.ErrNoQuestion, rec.Name)
	case rec.Kind == runlog.Withdrawn:
		err = fmt.Errorf("%w: the question %q was withdrawn", engine.ErrNoQuestion, rec.Name)
	case rec.Kind != runlog.Answered:
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
		if r := e.find(id); r != nil {
			if open, err := verdict(r.asks.of(c.Key), c.Data); !open {
				return err
			}
		}
	}
	if err := e.journal.Put(ctx, runlog.Letter{Run: id, Key: c.Key, Data: c.Data}); err != nil {
		return e.refusal(ctx, id, &c, err)
	}
	e.Letters(ctx, id)
	return nil
}

// refusal is what a command gets that the inbox did not keep.
func (e *Engine) refusal(ctx context.Context, id string, c *engine.Command, err error) error {
	ended := errors.Is(err, runlog.ErrEnded)
	switch {
	case errors.Is(err, runlog.ErrNoRun):
		return journal.NoRun(id)
	case !ended && !errors.Is(err, runlog.ErrConflict):
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

// Letters puts letters on record for the runs that this engine works on, and
// resumes runs that have letters. id "": all.
func (e *Engine) Letters(ctx context.Context, id string) {
	for l, err := range e.journal.Letters(ctx, id) {
		r := e.find(l.Run)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				e.log.Warn("letters to runs cannot be read", "err", err)
			}
			return
		case r == nil:
			if listing, err := e.journal.Listing(ctx, l.Run); err == nil {
				e.TakeUp(ctx, &listing)
			}
		case l.Expired || !r.isLive() || !r.asks.take(l):
		case id == "":
			e.pool.Do(jobs.Func(func() { r.record(letterRecord(&l), l.Data) }))
		default:
			_ = r.recordSync(ctx, letterRecord(&l), l.Data) // the letter is kept
		}
	}
}

// retry executes the flow of a stuck run again.
func (e *Engine) retry(ctx context.Context, id string) error {
	l, err := e.journal.Listing(ctx, id)
	if err == nil && l.Status != runlog.Stuck {
		err = agent.ErrorOf(fmt.Errorf("%w: run %q is %s, not stuck", engine.ErrMalformed, id, l.Status))
	}
	if err == nil {
		_, err = e.resume(ctx, &l, e.forget(id), nil)
	}
	return err
}

// cancelStuck ends a stuck run, and stuck runs inside of it, without executing their
// flows. It tells whether the run was stuck.
func (e *Engine) cancelStuck(ctx context.Context, id string, reason json.RawMessage) (stuck bool, err error) {
	err = e.fleet.Until(ctx, id, func() (bool, error) { // it may stop just now, or be retried
		l, err := e.journal.Listing(ctx, id)
		stuck = err == nil && l.Status == runlog.Stuck
		return !stuck || e.find(id) == nil, err
	})
	if err != nil || !stuck {
		return false, err
	}
	return true, e.endStuck(ctx, id, reason)
}

// endStuck ends a run that is stuck, or whose parent is.
func (e *Engine) endStuck(ctx context.Context, id string, reason json.RawMessage) error {
	for l, err := range e.journal.List(ctx, runlog.Query{Parent: id, Open: true}) {
		if err != nil {
			return err
		}
		if child := e.find(l.Run); child != nil {
			<-child.done // it was stopped with its parent
		}
		if err := e.endStuck(ctx, l.Run, reason); err != nil {
			return err
		}
	}
	l, err := e.journal.Listing(ctx, id)
	if err != nil || l.Ended {
		return err
	}
	end := engine.End{Status: engine.Canceled, Err: engine.CanceledBy(reason).Err}
	for rec, err := range e.journal.Records(ctx, id, 0) {
		if err != nil {
			return err
		}
		end.Spent = end.Spent.Add(usageOf(&rec))
	}
	r := newRun(&e.shared, id, &engine.Program{Name: l.Flow, Version: l.Version}, nil)
	r.records.Continue(l.Next)
	if err := r.recordSync(ctx, letterRecord(&runlog.Letter{Data: reason}), reason); err != nil {
		return err
	}
	err = r.recordSync(ctx, runlog.Record{Kind: runlog.Ended, Name: l.Flow}, engine.EndedData{End: end})
	r.records.Stop()
	e.forget(id)
	return err
}

// usageOf is what the call used that rec is of.
func usageOf(rec *runlog.Record) providers.Usage {
	var d struct {
		engine.UsedData
		engine.CalledData
	}
	if rec.Kind == runlog.Called || rec.Kind == runlog.Used {
		_ = json.Unmarshal(rec.Data, &d)
	}
	return d.UsedData.Usage.Add(d.CalledData.Usage())
}

// here stands in for an inbox: a run of this process puts a letter on record at once.
type here struct{ e *Engine }

// Put implements runlog.Inbox.
func (h here) Put(ctx context.Context, l runlog.Letter) error {
	r := h.e.find(l.Run)
	if r == nil {
		listing, err := h.e.journal.Listing(ctx, l.Run)
		if err == nil && !listing.Ended {
			return agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process, and the store has no inbox: call Resume first", engine.ErrStopped, l.Run))
		}
		return cmp.Or(err, runlog.ErrEnded)
	}
	if err := h.e.await(ctx, r.live); err != nil {
		return err
	}
	if !r.asks.take(l) {
		return runlog.ErrConflict
	}
	if l.Expired { // it is put on record by who closes the question
		return nil
	}
	err := r.recordSync(ctx, letterRecord(&l), l.Data)
	if !errors.Is(err, journal.ErrLate) {
		return err
	}
	if err := h.e.await(ctx, r.done); err != nil { // it ends just now, and then its end says what is so
		return err
	}
	return h.Put(ctx, l)
}

// Letters implements runlog.Inbox.
func (here) Letters(context.Context, string) iter.Seq2[runlog.Letter, error] {
	return func(func(runlog.Letter, error) bool) {}
}

// Asks implements runlog.Inbox, but for yielding all records: asks.note skips the
// others.
func (h here) Asks(ctx context.Context, run, _ string) iter.Seq2[runlog.Record, error] {
	return h.e.journal.Records(ctx, run, 0)
}

// expire closes a question whose time is over, unless an answer came first.
func (e *Engine) expire(r *run, key string) (bool, error) {
	ctx, cancel := r.shortly()
	defer cancel()
	l := runlog.Letter{Run: r.id, Key: key, Expired: true}
	err := e.journal.Put(ctx, l)
	if errors.Is(err, runlog.ErrConflict) {
		// It may be closed for another branch, or since before the process died.
		var last runlog.Record
		if last, err = e.question(ctx, r.id, key); err == nil && last.Kind == runlog.Answered {
			e.Letters(ctx, r.id) // an answer came first
			return false, nil
		}
	}
	return err == nil && r.asks.take(l), err
}
