package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	insertLetter = "INSERT INTO letters(run, key, expired, head, data) VALUES(?, ?, ?, ?, CAST(? AS TEXT))"

	// Append has removed the letters that are in the log.
	lettersBehind      = "SELECT expired, " + columns + ", run, key FROM letters WHERE (run, key) > (?, ?)"
	selectLetters      = lettersBehind + " ORDER BY run, key"
	selectLettersOfRun = lettersBehind + " AND run = ? ORDER BY key"
)

// Put implements [runlog.Inbox].
func (s *Store) Put(ctx context.Context, l runlog.Letter) error {
	return s.change(ctx, func(c *conn) error {
		if err := c.takes(l.Run, l.Key); err != nil {
			return err
		}
		r := runlog.Record{Run: l.Run, Name: l.Key, Data: l.Data}
		if l.Expired {
			r.Seq = 1
		}
		err := c.exec(insertLetter, l.Run, l.Key, r.Seq, c.head(&r, 0), []byte(l.Data))
		if errors.Is(err, runlog.ErrConflict) {
			return fmt.Errorf("%w: run %q has a letter for key %q", err, l.Run, l.Key)
		}
		return err
	})
}

// takes returns an error if the log of run closes key.
func (c *conn) takes(run, key string) error {
	rows, err := c.all("SELECT ended, canceled FROM runs WHERE run = ?", run)
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return fmt.Errorf("%w: %q", runlog.ErrNoRun, run)
	case as[int64](rows[0][0]) != 0:
		return fmt.Errorf("%w: %q", runlog.ErrEnded, run)
	case key == "" && as[int64](rows[0][1]) != 0:
		return fmt.Errorf("%w: run %q is canceled", runlog.ErrConflict, run)
	case key == "":
		return nil
	}
	state := runlog.Asked
	err = c.rows(func(c *conn, row []driver.Value) error {
		r, err := c.logged(run, row)
		state = runlog.AskState(state, r)
		return err
	}, selectAsksKey, run, int64(0), key)
	if err == nil && state != runlog.Asked {
		err = fmt.Errorf("%w: question %q of run %q is %s", runlog.ErrConflict, key, run, state)
	}
	return err
}

// Letters implements [runlog.Inbox], in the order of runs and keys.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	sql := selectLetters
	if run != "" {
		sql = selectLettersOfRun
	}
	return pages(0, func(last *runlog.Letter, add func(runlog.Letter, int) error) error {
		if last == nil {
			last = new(runlog.Letter)
		}
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			run, key := as[string](row[3]), as[string](row[4])
			r, ok := c.record(run, row)
			if !ok || r.Name != key {
				return damaged(run, "letter for key %q", key)
			}
			return add(runlog.Letter{Run: run, Key: key, Expired: r.Seq != 0, Data: r.Data}, len(r.Data))
		}, sql, last.Run, last.Key, run)
	})
}
