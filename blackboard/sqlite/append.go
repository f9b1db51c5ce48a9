package sqlite

import (
	"context"
	"fmt"
	"runtime"

	"github.com/convene-go/convene/blackboard"
)

// Append implements [blackboard.Store]. Calls that come while another is under way
// are written together, with one wait for the disk; a conflict of one is none of the
// others. A record whose time is before 1678 or after 2261 is an error, unless it is
// the zero time. A call that waits for another process or another call returns when
// ctx is done; a write to the disk that has begun is not cut short.
func (s *Store) Append(ctx context.Context, recs []blackboard.Record) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	var err error
	select {
	case s.turn <- struct{}{}:
		err = s.write(ctx, func(c *conn) error { return c.append(recs) })
		<-s.turn
	default:
		err = s.appendTogether(ctx, recs)
	}
	if err != nil {
		return fmt.Errorf("sqlite: append: %w", explain(err))
	}
	return nil
}

// appendCall is a call of Append that waits while another call writes.
type appendCall struct {
	recs []blackboard.Record
	err  chan error // with room for one
}

// appendTogether waits until this call has the turn, and then writes what waits, or
// until the call that has the turn takes this one too.
func (s *Store) appendTogether(ctx context.Context, recs []blackboard.Record) error {
	call := appendCall{recs, make(chan error, 1)}
	select {
	case s.turn <- struct{}{}:
		err := s.appendWaiting(ctx, call)
		<-s.turn
		return err
	case s.waiting <- call:
		return <-call.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// appendWaiting writes call, which has the turn, and all calls that wait. It takes
// these once the file is locked, so that a done ctx is the error of call alone.
func (s *Store) appendWaiting(ctx context.Context, call appendCall) error {
	if err := s.writer.retry(ctx, (*conn).begin); err != nil {
		return err
	}
	runtime.Gosched() // lets calls come that are about to
	calls := []appendCall{call}
	for more := true; more; {
		select {
		case c := <-s.waiting:
			calls = append(calls, c)
		default:
			more = false
		}
	}
	var err error
	for i := 0; i < len(calls) && err == nil; i++ {
		err = s.writer.insertAll(calls[i].recs)
	}
	err = s.writer.finish(err)
	oneIsFaulty := err != nil && code(err) == 0 // no error of SQLite
	if err == nil {
		err = s.checkFile()
	}
	for _, c := range calls {
		if oneIsFaulty {
			err = s.write(context.Background(), func(w *conn) error { return w.append(c.recs) })
		}
		c.err <- err
	}
	return <-call.err
}

// append writes recs, or none.
func (c *conn) append(recs []blackboard.Record) error {
	if len(recs) == 0 {
		return nil
	}
	if len(recs) == 1 && !notable(&recs[0]) {
		_, err := c.insert(&recs[0], place{}) // an INSERT is a transaction by itself
		return err
	}
	return c.transaction(func() error { return c.insertAll(recs) })
}

// insertAll writes recs in a transaction.
func (c *conn) insertAll(recs []blackboard.Record) (err error) {
	var last place
	for i := range recs {
		r := &recs[i]
		if r.Seq == 0 {
			if last, err = c.insertRun(r); err != nil {
				return err
			}
		}
		if last, err = c.insert(r, last); err != nil {
			return err
		}
		if notable(r) {
			if err = c.note(r); err != nil {
				return err
			}
		}
		if r.Kind == blackboard.Ended {
			last = place{} // the next record of the run is looked at: it is a conflict
		}
	}
	return nil
}

// notable tells whether the tables beside the log change with r.
func notable(r *blackboard.Record) bool {
	return r.Seq == 0 || r.Kind == blackboard.Canceled || blackboard.Listed(r.Kind) || blackboard.AskKind(r.Kind)
}

// note writes what a record means for the list of runs and the inbox.
func (c *conn) note(r *blackboard.Record) (err error) {
	if r.Seq > 0 && blackboard.Listed(r.Kind) {
		err = c.updateRun(r)
	}
	if err == nil && r.Kind == blackboard.Canceled {
		_, err = c.run("UPDATE runs SET canceled = 1 WHERE run = ?", r.Run)
	}
	if key, ok := blackboard.Removes(*r); ok && err == nil {
		_, err = c.run("DELETE FROM letters WHERE run = ? AND key = ?", r.Run, key)
	}
	if err == nil && r.Kind == blackboard.Ended {
		_, err = c.run("DELETE FROM letters WHERE run = ?", r.Run)
	}
	return err
}
