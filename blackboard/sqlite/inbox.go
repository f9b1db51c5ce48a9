package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

const (
	insertLetter  = "INSERT INTO letters(run, key, expired, head, data) VALUES(?, ?, ?, ?, CAST(? AS TEXT))"
	selectLetters = "SELECT expired, " + columns + ", run, key FROM letters" // Append has removed those that are in the log
)

// Put implements [blackboard.Inbox].
func (s *Store) Put(ctx context.Context, l blackboard.Letter) error {
	return s.change(ctx, func(c *conn) error {
		if err := c.takes(l.Run, l.Key); err != nil {
			return err
		}
		r := blackboard.Record{Run: l.Run, Name: l.Key, Data: l.Data}
		if l.Expired {
			r.Seq = 1
		}
		err := c.exec(insertLetter, l.Run, l.Key, r.Seq, c.head(&r, 0), []byte(l.Data))
		if errors.Is(err, blackboard.ErrConflict) {
			return fmt.Errorf("%w: run %q has a letter for key %q", err, l.Run, l.Key)
		}
		return err
	})
}

// takes returns an error if the log of run closes key.
func (c *conn) takes(run, key string) error {
	row, err := c.first("SELECT ended, canceled FROM runs WHERE run = ?", run)
	switch {
	case err != nil:
		return err
	case row == nil:
		return fmt.Errorf("%w: %q", blackboard.ErrNoRun, run)
	case integer(row[0]) != 0:
		return fmt.Errorf("%w: %q", blackboard.ErrEnded, run)
	case key == "" && integer(row[1]) != 0:
		return fmt.Errorf("%w: run %q is canceled", blackboard.ErrConflict, run)
	case key == "":
		return nil
	}
	state := ""
	err = c.rows(func(c *conn, row []driver.Value) error {
		r, ok := c.record(run, row)
		if !ok {
			return damaged(run, "record %d", r.Seq)
		}
		state = blackboard.AskState(state, r)
		return nil
	}, selectAsksKey, run, int64(0), key)
	if err == nil && state != "" && state != blackboard.Asked {
		err = fmt.Errorf("%w: question %q of run %q is %s", blackboard.ErrConflict, key, run, state)
	}
	return err
}

// Letters implements [blackboard.Inbox], in any order.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
	return collected(func() (letters []blackboard.Letter, err error) {
		sql, args := selectLetters, []driver.Value(nil)
		if run != "" {
			sql, args = sql+" WHERE run = ?", append(args, run)
		}
		err = s.rows(ctx, func(c *conn, row []driver.Value) error {
			run, key := text(row[3]), text(row[4])
			r, ok := c.record(run, row)
			if !ok || r.Name != key {
				return damaged(run, "letter for key %q", key)
			}
			letters = append(letters, blackboard.Letter{Run: run, Key: key, Expired: r.Seq != 0, Data: r.Data})
			return nil
		}, sql, args...)
		return letters, err
	})
}

// collected yields what read returns.
func collected[T any](read func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		vs, err := read()
		for i := range vs {
			if !yield(vs[i], nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}
