package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// Tell implements engine.Driver.
func (e *Engine) Tell(ctx context.Context, id string, c engine.Command) error {
	switch c.Kind {
	case engine.RetryIt:
		return e.retry(ctx, id)
	case engine.AnswerIt:
		return e.answer(ctx, id, &c)
	}
	if done, err := e.cancelStuck(ctx, id, c.Data); done || err != nil {
		return err
	}
	switch err := e.inbox().Put(ctx, runlog.Letter{Run: id, Data: c.Data}); {
	case errors.Is(err, runlog.ErrNoRun):
		return noRun(id)
	case errors.Is(err, runlog.ErrConflict):
		return nil // it is canceled, or has ended
	case err != nil:
		return err
	}
	e.Letters(ctx, id)
	return nil
}

// answer puts an answer at the present address of its question. Where another letter
// has that already, it looks again what is so.
func (e *Engine) answer(ctx context.Context, id string, c *engine.Command) error {
	for tried := -1; ; {
		s, ended, err := e.question(ctx, id, c.Key, tried >= 0)
		if err != nil {
			return err
		}
		switch open, err := s.Verdict(c.Data); {
		case !open:
			return err
		case ended:
			return hasEnded(id)
		case s.Round == tried: // the letter that took the address cannot be seen
			return agent.ErrorOf(fmt.Errorf("%w: the question %q", engine.ErrAnswered, c.Key))
		}
		tried = s.Round
		l := runlog.Letter{Run: id, Key: c.Key, Round: s.Round, Data: c.Data}
		err = e.inbox().Put(ctx, l)
		if err == nil {
			e.Letters(ctx, id)
			if kept, err := e.kept(ctx, &l); kept || err != nil {
				return err
			}
		} else if errors.Is(err, runlog.ErrNoRun) {
			return noRun(id)
		} else if !errors.Is(err, runlog.ErrConflict) {
			return err
		}
	}
}

// kept tells whether a letter that was put got to its question, or still may. Its error
// says that the question takes it no more. Neither: the key was asked again meanwhile.
func (e *Engine) kept(ctx context.Context, l *runlog.Letter) (bool, error) {
	if r := e.find(l.Run); r != nil && r.isLive() {
		if s := r.questions.State(l.Key); s.Round == l.Round && s.Kind == runlog.Answered {
			return true, nil
		}
	}
	listing, err := e.listing(ctx, l.Run) // first: nothing follows an end
	if err != nil {
		return false, err
	}
	var then, now engine.QuestionState // at the letter's round, and at last
	now.Key = l.Key
	for rec, err := range e.asks(ctx, l.Run, l.Key) {
		if err != nil {
			return false, err
		}
		if now = now.Note(rec); now.Round == l.Round {
			then = now
		}
	}
	switch {
	case then.Kind == runlog.Answered:
		return true, nil
	case now.Round > l.Round:
		return false, nil
	case now.Round == l.Round:
		_, err = now.Verdict(l.Data)
	}
	if err == nil && listing.Ended {
		e.taken(ctx, l)
		err = hasEnded(l.Run)
	}
	return err == nil, err
}

func hasEnded(id string) error {
	return agent.ErrorOf(fmt.Errorf("%w: run %q has ended", engine.ErrNoQuestion, id))
}

// retry executes the flow of a stuck run again.
func (e *Engine) retry(ctx context.Context, id string) error {
	l, err := e.listing(ctx, id)
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
	err = e.until(ctx, id, func() (bool, error) { // it may stop just now, or be retried
		l, err := e.listing(ctx, id)
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
	for l, err := range e.list(ctx, runlog.Query{Parent: id, Open: true}) {
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
	l, err := e.listing(ctx, id)
	if err != nil || l.Ended {
		return err
	}
	end := engine.End{Status: engine.Canceled, Err: engine.CanceledBy(reason).Err}
	for rec, err := range e.records(ctx, id, 0) {
		if err != nil {
			return err
		}
		end.Spent = end.Spent.Add(usageOf(&rec))
	}
	r := newRun(&e.shared, id, &engine.Program{Name: l.Flow, Version: l.Version}, nil)
	r.continueAt(l.Next)
	if err := r.recordSync(ctx, runlog.Record{Kind: runlog.Canceled, Data: reason}, reason); err != nil {
		return err
	}
	err = r.recordSync(ctx, runlog.Record{Kind: runlog.Ended, Name: l.Flow}, engine.EndedData{End: end})
	r.stopLog()
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
