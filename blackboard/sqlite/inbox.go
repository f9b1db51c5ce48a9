package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	insertLetter = "INSERT INTO inbox(run, key, round, taken, expired, head, data) VALUES(?, ?, ?, 0, ?, ?, CAST(? AS TEXT))"
	takeLetter   = "UPDATE inbox SET taken = 1, head = x'', data = NULL WHERE run = ? AND key = ? AND round = ?"

	lettersBehind      = "SELECT expired, " + columns + ", run, key, round FROM inbox WHERE taken = 0 AND (run, key, round) > (?, ?, ?)"
	selectLetters      = lettersBehind + " ORDER BY run, key, round"
	selectLettersOfRun = lettersBehind + " AND run = ? ORDER BY key, round"
)

// Put implements [runlog.Inbox].
func (s *Store) Put(ctx context.Context, l runlog.Letter) error {
	return s.change(ctx, func(c *conn) error {
		rows, err := c.all("SELECT 1 FROM runs WHERE run = ?", l.Run)
		if err == nil && len(rows) == 0 {
			err = fmt.Errorf("%w: %q", runlog.ErrNoRun, l.Run)
		}
		if err == nil {
			r := letterRecord(l)
			err = c.exec(insertLetter, l.Run, l.Key, r.N, r.Seq, c.head(&r, 0), []byte(l.Data))
		}
		if errors.Is(err, runlog.ErrConflict) {
			return fmt.Errorf("%w: run %q had a letter for key %q, round %d", err, l.Run, l.Key, l.Round)
		}
		return err
	})
}

// letterRecord is the record that a letter is stored as.
func letterRecord(l runlog.Letter) runlog.Record {
	r := runlog.Record{Run: l.Run, N: int64(l.Round), Name: l.Key, Data: l.Data}
	if l.Expired {
		r.Seq = 1
	}
	return r
}

// Take implements [runlog.Inbox]. Of a letter that was taken only the address is kept.
func (s *Store) Take(ctx context.Context, run, key string, round int) error {
	return s.change(ctx, func(c *conn) error { return c.exec(takeLetter, run, key, int64(round)) })
}

// Letters implements [runlog.Inbox].
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	sql := selectLetters
	if run != "" {
		sql = selectLettersOfRun
	}
	return pages(0, func(last *runlog.Letter, add func(runlog.Letter, int) error) error {
		if last == nil {
			last = &runlog.Letter{Round: math.MinInt}
		}
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			run, key, round := as[string](row[3]), as[string](row[4]), as[int64](row[5])
			r, ok := c.record(run, row)
			if !ok || r.Name != key || r.N != round {
				return damaged(run, "letter for key %q", key)
			}
			return add(runlog.Letter{Run: run, Key: key, Round: int(round), Expired: r.Seq != 0, Data: r.Data}, len(r.Data))
		}, sql, last.Run, last.Key, int64(last.Round), run)
	})
}
