package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// pending are the letters to a question that are not on record. They are read before the
// question is looked up, because a letter becomes a record.
func (e *Engine) pending(ctx context.Context, id, key string) (pending []runlog.Letter, err error) {
	e.Letters(ctx, id)
	for l, err := range e.inbox().Letters(ctx, id) {
		if err != nil {
			return nil, err
		}
		if l.Key == key {
			pending = append(pending, l)
		}
	}
	return pending, nil
}

// earlyLimit is an error if as many early answers wait for a run as may, one for key apart.
func (e *Engine) earlyLimit(ctx context.Context, id, key string) error {
	var known *engine.Questions
	if r := e.find(id); r != nil && r.isLive() {
		known = &r.questions
	} else {
		q, err := e.logged(ctx, id, "")
		if err != nil {
			return err
		}
		known = q
	}
	n := known.Early(key)
	for l, err := range e.inbox().Letters(ctx, id) {
		if err != nil {
			return err
		}
		if l.Key != "" && l.Key != key && !l.Expired && known.State(l.Key).Kind == "" {
			n++
		}
	}
	if n < engine.MaxEarly {
		return nil
	}
	return agent.ErrorOf(fmt.Errorf("%w: %d answers to questions that were not asked yet wait for run %q, and no more than %d may", engine.ErrTooLarge, n, id, engine.MaxEarly))
}

// question is where a question is, by its log and by letters that are not on record, and
// whether its run has ended.
func (e *Engine) question(ctx context.Context, id, key string, pending []runlog.Letter) (s engine.QuestionState, ended bool, err error) {
	if r := e.find(id); r != nil && r.isLive() { // it knows more than is on record
		s = r.questions.State(key)
	} else {
		l, err := e.listing(ctx, id)
		if err != nil {
			return s, false, err
		}
		q, err := e.logged(ctx, id, key)
		if err != nil {
			return s, false, err
		}
		s, ended = q.State(key), l.Ended
	}
	for _, l := range pending { // in the order of rounds
		if s.Takes(&l) {
			s = s.Note(engine.LetterRecord(&l))
		}
	}
	return s, ended, nil
}

// Letters implements fleet.Host: it puts letters on record for the runs that this engine
// works on, and resumes runs that have letters. id "": all.
func (e *Engine) Letters(ctx context.Context, id string) {
	for l, err := range e.inbox().Letters(ctx, id) {
		r := e.find(l.Run)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				e.log.Warn("letters to runs cannot be read", "err", err)
			}
			return
		case r == nil:
			e.wake(ctx, &l)
		case !r.isLive(): // it takes its letters when it is
		case l.Expired || !r.takes(&l): // who waits puts an expiry on record
			e.discard(ctx, r, &l)
		case id == "":
			e.async(func() {
				ctx, cancel := e.shortly()
				defer cancel()
				e.putOnRecord(ctx, r, &l)
			})
		default:
			e.putOnRecord(ctx, r, &l)
		}
	}
}

// putOnRecord makes a letter a record, and takes it then. Otherwise the letter is kept.
func (e *Engine) putOnRecord(ctx context.Context, r *run, l *runlog.Letter) {
	if r.answerSync(ctx, l) == nil {
		e.taken(ctx, l)
	}
}

// takes reports whether the question of a letter takes it now.
func (r *run) takes(l *runlog.Letter) bool {
	s := r.questions.State(l.Key)
	return s.Takes(l)
}

// wake resumes the run that a letter is for. A run that has ended takes none.
func (e *Engine) wake(ctx context.Context, l *runlog.Letter) {
	listing, err := e.listing(ctx, l.Run)
	switch {
	case err != nil:
	case listing.Ended:
		e.taken(ctx, l)
	default:
		e.TakeUp(ctx, &listing)
	}
}

// taken marks a letter as taken. Where that fails, the letter is met again.
func (e *Engine) taken(ctx context.Context, l *runlog.Letter) {
	if err := e.inbox().Take(ctx, l.Run, l.Key, l.Round); err != nil && ctx.Err() == nil {
		e.log.Warn("letter cannot be marked as taken; trying again", "run", l.Run, "question", l.Key, "err", err)
	}
}

// discard takes a letter that the run has no use for, if that is on record: it may be so
// only by what is not committed yet.
func (e *Engine) discard(ctx context.Context, r *run, l *runlog.Letter) {
	if l.Key == "" {
		if _, is, err := e.canceled(ctx, r.id); err == nil && is {
			e.taken(ctx, l)
		}
		return
	}
	q, err := e.logged(ctx, r.id, l.Key)
	if s := q.State(l.Key); err == nil && s.Over(l) {
		e.taken(ctx, l)
	}
}

// canceled reports whether a cancel of the run is on record, and its reason.
func (e *Engine) canceled(ctx context.Context, id string) (reason json.RawMessage, is bool, err error) {
	for rec, err := range e.records(ctx, id, 0) {
		if err != nil || rec.Kind == runlog.Canceled {
			return rec.Data, err == nil, err
		}
	}
	return nil, false, nil
}

// expire closes a question whose time is over by a letter, which it returns, unless an
// answer came first.
func (e *Engine) expire(r *run, key string) (*runlog.Letter, error) {
	ctx, cancel := r.shortly()
	defer cancel()
	s := r.questions.State(key)
	l := &runlog.Letter{Run: r.id, Key: key, Round: s.Round, Expired: true}
	switch s.Kind {
	case runlog.Answered:
		return nil, nil
	case runlog.Expired: // it expired for another branch, or before the process died
		return l, nil
	}
	err := e.inbox().Put(ctx, *l)
	if errors.Is(err, runlog.ErrConflict) {
		var pending []runlog.Letter
		if pending, err = e.pending(ctx, r.id, key); err == nil {
			s, _, err = e.question(ctx, r.id, key, pending)
		}
	}
	if err != nil || s.Kind == runlog.Answered {
		return nil, err
	}
	return l, nil
}

// inbox is the store's inbox, or what stands in for it.
func (e *Engine) inbox() runlog.Inbox {
	if inbox := e.storeInbox(); inbox != nil {
		return inbox
	}
	return here{e}
}

// here stands in for an inbox: a run of this process puts a letter on record at once.
type here struct{ e *Engine }

// Put implements runlog.Inbox.
func (h here) Put(ctx context.Context, l runlog.Letter) error {
	r := h.e.find(l.Run)
	if r == nil {
		listing, err := h.e.listing(ctx, l.Run)
		if err == nil && !listing.Ended {
			return agent.ErrorOf(fmt.Errorf("%w: run %q is not running in this process, and the store has no inbox: call Resume first", engine.ErrStopped, l.Run))
		}
		return cmp.Or(err, runlog.ErrConflict)
	}
	if err := h.e.await(ctx, r.live); err != nil {
		return err
	}
	if l.Expired { // it is put on record by who closes the question
		return nil
	}
	err := r.answerSync(ctx, &l)
	if !errors.Is(err, errLate) {
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

// Take implements runlog.Inbox.
func (here) Take(context.Context, string, string, int) error { return nil }

// put puts an answer, and tells whether it is kept: not if its address was taken.
func (e *Engine) put(ctx context.Context, l runlog.Letter) (kept bool, err error) {
	r := e.find(l.Run)
	switch err := e.inbox().Put(ctx, l); {
	case err == nil:
		e.Letters(ctx, l.Run)
		return e.kept(ctx, cmp.Or(r, e.find(l.Run)), &l)
	case errors.Is(err, runlog.ErrNoRun):
		return false, e.noRun(l.Run)
	case errors.Is(err, runlog.ErrConflict):
		return false, nil
	default:
		return false, err
	}
}

// kept reports whether a letter that was put got to its question, or still may. Its error
// says that the question takes it no more. Neither: the key was asked again meanwhile. r
// is the run if this engine works on it, or did: what it has accepted is on record, or
// still a letter.
func (e *Engine) kept(ctx context.Context, r *run, l *runlog.Letter) (bool, error) {
	if r != nil {
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
		err = now.Closed()
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
