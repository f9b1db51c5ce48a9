package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// answers are the questions of a run as its engine's other goroutines see them: which
// are open, and which take no answer any more. The cancel has Key "".
type answers struct {
	mu     sync.Mutex
	taken  map[string]json.RawMessage // the answers, and the cancel
	closed map[string]string          // questions without an answer: why
	asks   []engine.Ask               // that wait for an answer, in the order in which they were asked
}

// take keeps an answer. If the question does not take it, a call with other data
// gets the reason, and one with equal data nil and false.
func (a *answers) take(key string, data json.RawMessage) (first bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why, ok := a.closed[key]; ok {
		return false, noQuestion(key, why)
	}
	if have, ok := a.taken[key]; ok {
		return false, sameAnswer(key, have, data)
	}
	if a.taken == nil {
		a.taken = map[string]json.RawMessage{}
	}
	a.taken[key] = data
	a.forget(key)
	return true, nil
}

// isClosed says why a question takes no answer; nil: it does, or is not asked yet.
func (a *answers) isClosed(key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why, ok := a.closed[key]; ok {
		return noQuestion(key, why)
	}
	return nil
}

// close closes a question for answers. It tells whether none came before.
func (a *answers) close(key, why string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(key)
	if _, ok := a.taken[key]; ok {
		return false
	}
	if a.closed == nil {
		a.closed = map[string]string{}
	}
	a.closed[key] = why
	return true
}

// open notes that a question is asked, once more if it was closed before.
func (a *answers) open(op *engine.Op) {
	var ask engine.Ask
	_ = json.Unmarshal(op.Ask, &ask) // the flow made it
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.closed, op.Name)
	if op.Reject != "" {
		delete(a.taken, op.Name)
	}
	if _, ok := a.taken[op.Name]; !ok {
		a.forget(op.Name)
		a.asks = append(a.asks, ask)
	}
}

func (a *answers) forget(key string) {
	for i := range a.asks {
		if a.asks[i].Key == key {
			a.asks = append(a.asks[:i:i], a.asks[i+1:]...)
			return
		}
	}
}

// waiting are the questions that wait for an answer.
func (a *answers) waiting() []engine.Ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]engine.Ask(nil), a.asks...)
}

// note takes in a record of the log.
func (a *answers) note(rec blackboard.Record) {
	switch rec.Kind {
	case blackboard.Answered, blackboard.Canceled:
		_, _ = a.take(rec.Name, rec.Data)
	case blackboard.Expired:
		a.close(rec.Name, "has expired")
	case blackboard.Withdrawn:
		a.close(rec.Name, "was withdrawn")
	case blackboard.Asked:
		a.open(&engine.Op{Name: rec.Name, Ask: rec.Data})
	}
}

func noQuestion(key, why string) error {
	return agent.ErrorOf(fmt.Errorf("%w: the question %q %s", engine.ErrNoQuestion, key, why))
}

// sameAnswer is what a second answer gets: nil if it is equal. A second cancel is no
// error.
func sameAnswer(key string, have, data json.RawMessage) error {
	if key == "" || equalJSON(have, data) {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: the question %q has another answer", engine.ErrAnswered, key))
}

func equalJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x) // maps are sorted
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// Tell implements engine.Driver.
func (e *Engine) Tell(ctx context.Context, id string, c engine.Command) error {
	switch c.Kind {
	case engine.AnswerIt:
	case engine.RetryIt:
		return e.retry(ctx, id)
	case engine.CancelIt:
		c.Key = ""
		if done, err := e.cancelStuck(ctx, id, c.Data); done || err != nil {
			return err
		}
	}
	r := e.run(id)
	if r != nil && r.over() && r.err == nil {
		return e.refusal(ctx, r.id, c, blackboard.ErrEnded)
	}
	if e.inbox == nil {
		return e.tellHere(ctx, r, id, c)
	}
	if r != nil && c.Key != "" {
		if err := r.answers.isClosed(c.Key); err != nil {
			return err
		}
	}
	if err := e.inbox.Put(ctx, blackboard.Letter{Run: id, Key: c.Key, Data: c.Data}); err != nil {
		return e.refusal(ctx, id, c, err)
	}
	if r != nil {
		e.takeLetters(ctx, id)
		return nil
	}
	e.reviveFor(ctx, id)
	return nil
}

// tellHere gives a command to a run of this process, without a store that takes
// letters.
func (e *Engine) tellHere(ctx context.Context, r *run, id string, c engine.Command) error {
	if r == nil || r.over() {
		v, err := e.Look(ctx, id)
		switch {
		case err != nil:
			return err
		case v.Ended:
			return e.refusal(ctx, id, c, blackboard.ErrEnded)
		}
		return agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process, and the store has no inbox: call Resume first", engine.ErrStopped, id))
	}
	if err := r.waitLive(ctx); err != nil {
		return err
	}
	if r.over() {
		return e.Tell(ctx, id, c)
	}
	first, err := r.answers.take(c.Key, c.Data)
	if err != nil || !first {
		return err
	}
	if err = r.writeSync(ctx, answerRecord(c.Key, c.Data)); err == nil {
		return nil
	}
	if errors.Is(err, errLate) { // it ends just now, and then its end says what is so
		select {
		case <-r.done:
			return e.Tell(ctx, id, c)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("run %q: %w", r.id, err)
}

// waitLive waits until the run is behind its log, or over.
func (r *run) waitLive(ctx context.Context) error {
	select {
	case <-r.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.lived == nil {
		return nil
	}
	select {
	case <-r.lived:
	case <-r.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// isLive tells whether the run is behind its log.
func (r *run) isLive() bool {
	select {
	case <-r.started:
	default:
		return false
	}
	if r.lived == nil {
		return true
	}
	select {
	case <-r.lived:
		return true
	default:
		return false
	}
}

func answerRecord(key string, data json.RawMessage) *record {
	rec := &record{Record: blackboard.Record{Kind: blackboard.Answered, Name: key}, data: data}
	if key == "" {
		rec.Kind = blackboard.Canceled
	}
	return rec
}

// refusal is what a command gets that the inbox did not keep.
func (e *Engine) refusal(ctx context.Context, id string, c engine.Command, err error) error {
	switch {
	case errors.Is(err, blackboard.ErrNoRun):
		return agent.ErrorOf(fmt.Errorf("%w: %q", engine.ErrNoRun, id))
	case !errors.Is(err, blackboard.ErrConflict) && !errors.Is(err, blackboard.ErrEnded):
		return err
	case c.Key == "":
		return nil
	}
	if errors.Is(err, blackboard.ErrConflict) { // first, because a letter becomes a record
		for l, letterErr := range e.inbox.Letters(ctx, id) {
			switch {
			case letterErr != nil:
				return letterErr
			case l.Key == c.Key && l.Expired:
				return noQuestion(c.Key, "has expired")
			case l.Key == c.Key:
				return sameAnswer(c.Key, l.Data, c.Data)
			}
		}
	}
	var newest blackboard.Record // that tells the state of the question
	for rec, askErr := range e.asks(ctx, id, c.Key) {
		if askErr != nil {
			return askErr
		}
		if blackboard.AskState(newest.Kind, rec) != newest.Kind || rec.Kind == newest.Kind {
			newest = rec
		}
	}
	switch {
	case newest.Kind == blackboard.Answered:
		return sameAnswer(c.Key, newest.Data, c.Data)
	case newest.Kind == blackboard.Expired:
		return noQuestion(c.Key, "has expired")
	case newest.Kind == blackboard.Withdrawn:
		return noQuestion(c.Key, "was withdrawn")
	case errors.Is(err, blackboard.ErrEnded):
		return agent.ErrorOf(fmt.Errorf("%w: run %q has ended", engine.ErrNoQuestion, id))
	}
	return agent.ErrorOf(fmt.Errorf("%w: the question %q", engine.ErrAnswered, c.Key))
}

// takeLetters puts letters on record for the runs that this engine works on; id "":
// all.
func (e *Engine) takeLetters(ctx context.Context, id string) {
	if e.inbox == nil {
		return
	}
	var mine []blackboard.Letter
	for l, err := range e.inbox.Letters(ctx, id) {
		if err != nil {
			if ctx.Err() == nil {
				e.cfg.Log.Warn("letters to runs cannot be read", "err", err)
			}
			break
		}
		mine = append(mine, l)
	}
	for _, l := range mine {
		r := e.run(l.Run)
		if r == nil {
			e.reviveFor(ctx, l.Run)
			continue
		}
		if l.Expired || r.over() || !r.isLive() {
			continue
		}
		if first, _ := r.answers.take(l.Key, l.Data); !first {
			continue
		}
		if id == "" {
			e.pool.do(jobFunc(func() { e.pool.do(r.write(answerRecord(l.Key, l.Data))) }))
		} else {
			_ = r.writeSync(ctx, answerRecord(l.Key, l.Data)) // the letter is kept
		}
	}
}

// revive resumes a run that no engine works on, if this one can; its error says why
// it cannot. p is its flow; nil: the engine looks it up.
func (e *Engine) revive(ctx context.Context, id string, p *engine.Program) error {
	l, err := e.listing(ctx, id)
	if err != nil || l.Ended || l.Parent != "" || e.cfg.Observe || e.hasTried(&l) {
		return nil //nolint:nilerr // who asks meets the store's error by reading the run
	}
	if free, _ := e.free(ctx, worker(&l)); !free {
		return nil
	}
	if p == nil && e.program(l.Flow, l.Version) == nil {
		return unregistered(l.Flow, l.Version)
	}
	_, err = e.resume(ctx, l, p)
	if errors.Is(err, blackboard.ErrConflict) || errors.Is(err, engine.ErrStopped) {
		return nil
	}
	return err
}

// reviveFor resumes a run for a letter. The letter is kept in any case.
func (e *Engine) reviveFor(ctx context.Context, id string) {
	if err := e.revive(ctx, id, nil); err != nil && !errors.Is(err, engine.ErrNoFlow) && ctx.Err() == nil {
		e.cfg.Log.Warn("run cannot be resumed", "run", id, "err", err)
	}
}
