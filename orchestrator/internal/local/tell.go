package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// answers are the questions of a run that were answered, by key; "" is its cancel.
type answers struct {
	mu   sync.Mutex
	have map[string]bool
}

// note takes key and tells whether it was free.
func (a *answers) note(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.have[key] {
		return false
	}
	if a.have == nil {
		a.have = map[string]bool{}
	}
	a.have[key] = true
	return true
}

// drop gives key back: the answer could not be kept.
func (a *answers) drop(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.have, key)
}

// Tell implements engine.Driver.
func (e *Engine) Tell(ctx context.Context, id string, c engine.Command) error {
	if r := e.run(id); r != nil && !r.over() {
		return r.tell(ctx, c)
	}
	status, err := e.Status(ctx, id)
	if err != nil {
		return err
	}
	if status != engine.Suspended && status != engine.Running {
		if c.Key == "" {
			return nil
		}
		return agent.ErrorOf(fmt.Errorf("%w: run %q has ended", engine.ErrAnswered, id))
	}
	inbox, ok := e.cfg.Store.(blackboard.Inbox)
	if !ok {
		return agent.ErrorOf(fmt.Errorf("%w: run %q is not worked on here, and the store takes no letters for it: resume it first", engine.ErrStopped, id))
	}
	err = inbox.Put(ctx, blackboard.Letter{Run: id, Key: c.Key, Data: c.Data})
	if errors.Is(err, blackboard.ErrConflict) {
		return answered(c.Key)
	}
	return err
}

// answered is for somebody whose word came second: a second cancel is no error.
func answered(key string) error {
	if key == "" {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: the question %q", engine.ErrAnswered, key))
}

// tell puts a command on record; the flow learns of it in the order of the log.
func (r *run) tell(ctx context.Context, c engine.Command) error {
	if !r.answers.note(c.Key) {
		return answered(c.Key)
	}
	en := &entry{r: r, kind: blackboard.Answered, name: c.Key, at: now(), raw: c.Data}
	if c.Key == "" {
		en.kind = blackboard.Canceled
	}
	if err := r.writeSync(ctx, en); err != nil {
		r.answers.drop(c.Key)
		if errors.Is(err, errEarlier) { // it is just ending, and then the end says what is so
			select {
			case <-r.done:
				return r.e.Tell(ctx, r.id, c)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return fmt.Errorf("run %q: %w", r.id, err)
	}
	return nil
}

// cancelFor cancels the run because of why.
func (r *run) cancelFor(why error) {
	reason := agent.JSON(why.Error())
	if err := r.tell(r.ctx, engine.Command{Data: reason}); err != nil && !r.over() {
		r.stop(err)
	}
}

// takeLetters puts what other processes said to the run on record.
func (r *run) takeLetters(ctx context.Context) {
	if inbox, ok := r.e.cfg.Store.(blackboard.Inbox); ok {
		r.e.deliver(ctx, inbox, r.id)
	}
}

// deliver gives letters to the runs that this engine works on.
func (e *Engine) deliver(ctx context.Context, inbox blackboard.Inbox, id string) {
	var mine []blackboard.Letter
	for l, err := range inbox.Letters(ctx, id) {
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
		if r == nil || r.over() || !r.answers.note(l.Key) {
			continue
		}
		en := &entry{r: r, kind: blackboard.Answered, name: l.Key, at: now(), raw: l.Data}
		if l.Key == "" {
			en.kind = blackboard.Canceled
		}
		e.pool.do(func() { r.write(en).carryOn() })
	}
}

func decode(data json.RawMessage, v any) error { return json.Unmarshal(data, v) }
