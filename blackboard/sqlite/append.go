package sqlite

// How Append writes
//
// A lone call with one record that changes no index is one INSERT: its statement looks
// up the number of the run, and that the record before is there and has not ended the
// run. SQLite makes it a transaction by itself. All else is a transaction of several
// statements.
//
//   - One call at a time has the turn (Store.turn), and with it the writer connection.
//   - Calls that come meanwhile offer their records through Store.waiting. The next one
//     that gets the turn writes them in its own transaction: one wait for the disk.
//   - If one of them conflicts, nothing was written, and each is written by itself.
//   - What is written does not depend on the context of one of the calls. Only the wait
//     for the turn, and for other processes, ends with it.
//
// So of 16 calls at once, the first is written alone, and the other 15 together.

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Append implements [runlog.Store]. Calls that come while another is under way
// are written together, with one wait for the disk; a conflict of one is none of the
// others. A call that waits for another process or another call returns when ctx is
// done; a write to the disk that has begun is not cut short.
func (s *Store) Append(ctx context.Context, recs []runlog.Record) error {
	return s.call(ctx, func() error {
		select {
		case s.turn <- struct{}{}: // no other call writes
			defer func() { <-s.turn }()
			return s.write(ctx, func(c *conn) error { return c.append(recs) })
		default:
		}
		call := appendCall{recs, make(chan error, 1)}
		select {
		case s.turn <- struct{}{}:
			s.appendWaiting(ctx, call)
			<-s.turn
		case s.waiting <- call: // another call of Append writes it
		case <-ctx.Done():
			return ctx.Err()
		}
		return <-call.err
	})
}

// appendCall is a call of Append that waits while another call writes.
type appendCall struct {
	recs []runlog.Record
	err  chan error // has room for one
}

// appendWaiting writes call, which has the turn, and all calls that wait. It takes
// these once the file is locked, so that a done ctx is the error of only call.
func (s *Store) appendWaiting(ctx context.Context, call appendCall) {
	calls := []appendCall{call}
	err := s.writer.retry(ctx, func(c *conn) error {
		return c.transaction(func(c *conn) (err error) {
			calls = s.takeWaiting(calls)
			for i := 0; i < len(calls) && err == nil; i++ {
				err = c.putAll(calls[i].recs)
			}
			return err
		})
	})
	oneIsFaulty := err != nil && code(err) == 0 && len(calls) > 1
	if err == nil {
		err = s.checkFile()
	}
	for _, call := range calls {
		if oneIsFaulty {
			err = s.write(context.Background(), func(c *conn) error { return c.append(call.recs) })
		}
		call.err <- err
	}
}

func (s *Store) takeWaiting(calls []appendCall) []appendCall {
	runtime.Gosched() // lets calls come that are about to
	for {
		select {
		case call := <-s.waiting:
			calls = append(calls, call)
		default:
			return calls
		}
	}
}

// append writes recs, or none.
func (c *conn) append(recs []runlog.Record) error {
	if len(recs) == 1 && recs[0].Seq > 0 && !runlog.Indexed(recs[0].Kind) {
		return c.put(&recs[0]) // one statement, which is a transaction by itself
	}
	return c.transaction(func(c *conn) error { return c.putAll(recs) })
}

func (c *conn) putAll(recs []runlog.Record) (err error) {
	for i := 0; i < len(recs) && err == nil; i++ {
		err = c.put(&recs[i])
	}
	return err
}

// maxSeq is the largest Seq that an id has room for.
const maxSeq = 1<<32 - 1

// insertNext puts a record behind the one before it; if that is not there, or has
// ended the run, the id is -1, which the table refuses. Parameters with numbers would
// cost the driver a search each.
const (
	insertFirst = insertLog + "no << 32 FROM runs WHERE run = ? AND ? < 0" + insertRest
	insertNext  = insertLog + "id + 1 FROM log WHERE id = (SELECT no FROM runs WHERE run = ?) << 32 | ? AND kind <> 'ended'" + insertRest
	insertLog   = "INSERT INTO log(id, kind, name, at, head, data) VALUES(ifnull((SELECT "
	insertRest  = "), -1), ?, ?, ?, ?, CAST(? AS TEXT))"
)

// index takes r into the list of runs, and into the index of open questions.
func (c *conn) index(r *runlog.Record) (err error) {
	if r.Seq == 0 || runlog.Listed(r.Kind) {
		err = c.putListing(r)
	}
	switch {
	case err != nil:
	case runlog.AskKind(r.Kind):
		err = c.putAsk(r)
	case r.Kind == runlog.Ended:
		err = c.exec(deleteAsks, r.Run)
	}
	return err
}

// put writes one record, and what it means for the indexes.
func (c *conn) put(r *runlog.Record) (err error) {
	at, ok := nanos(r.At)
	if !ok {
		return fmt.Errorf("%w: record %d of run %q: the time %v is not in the years 1678 to 2261", runlog.ErrRefused, r.Seq, r.Run, r.At)
	}
	insert := insertNext
	if r.Seq == 0 {
		insert = insertFirst
	}
	if r.Seq < 0 || r.Seq > maxSeq {
		err = runlog.ErrConflict
	} else if r.Seq == 0 || runlog.Indexed(r.Kind) {
		err = c.index(r)
	}
	if err == nil {
		err = c.exec(insert, r.Run, r.Seq-1, r.Kind, r.Name, at, c.head(r, at), []byte(r.Data))
	}
	if errors.Is(err, runlog.ErrConflict) {
		return fmt.Errorf("%w: record %d of run %q is taken, leaves a gap, or the run has ended", err, r.Seq, r.Run)
	}
	return err
}
