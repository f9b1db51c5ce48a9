package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

const (
	selectOpen   = "SELECT no, ended, canceled FROM runs WHERE run = ?"
	selectStates = "SELECT kind, CAST(data AS BLOB) FROM log WHERE " + askKinds + " AND name = ? AND id BETWEEN ? AND ? ORDER BY id"
	putLetter    = `INSERT INTO letters(run, key, expired, data, sum) VALUES(?, ?, ?, CAST(? AS TEXT), ?) ON CONFLICT DO NOTHING`

	// Append has removed the letters that are in the log.
	selectLetters      = "SELECT run, key, expired, CAST(data AS BLOB), sum FROM letters ORDER BY id"
	selectLettersOfRun = "SELECT run, key, expired, CAST(data AS BLOB), sum FROM letters WHERE run = ? ORDER BY id"
)

// Put implements [blackboard.Inbox].
func (s *Store) Put(ctx context.Context, l blackboard.Letter) error {
	return s.change(ctx, func(c *conn) error {
		return c.transaction(func() error {
			if err := c.takes(l.Run, l.Key); err != nil {
				return err
			}
			row := []driver.Value{l.Run, l.Key, l.Expired, bytesOrNull(l.Data)}
			n, err := c.run(putLetter, append(row, c.rowChecksum(row))...)
			if err == nil && n == 0 {
				err = fmt.Errorf("%w: run %q has a letter for key %q", blackboard.ErrConflict, l.Run, l.Key)
			}
			return err
		})
	})
}

// takes returns an error if the log of run closes key.
func (c *conn) takes(run, key string) error {
	row, err := c.first(selectOpen, run)
	switch {
	case err != nil:
		return err
	case row == nil:
		return fmt.Errorf("%w: %q", blackboard.ErrNoRun, run)
	case integer(row[1]) != 0:
		return fmt.Errorf("%w: %q", blackboard.ErrEnded, run)
	case key == "" && integer(row[2]) != 0:
		return fmt.Errorf("%w: run %q is canceled", blackboard.ErrConflict, run)
	case key == "":
		return nil
	}
	first := integer(row[0]) << 32
	state := ""
	err = c.rows(func(row []driver.Value) error {
		state = blackboard.AskState(state, blackboard.Record{Kind: text(row[0]), Name: key, Data: bytes(row[1])})
		return nil
	}, selectStates, key, first, first|maxSeq)
	if err == nil && state != "" && state != blackboard.Asked {
		err = fmt.Errorf("%w: question %q of run %q is %s", blackboard.ErrConflict, key, run, state)
	}
	return err
}

// Letters implements [blackboard.Inbox], in the order in which they came.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
	sql, args := selectLetters, []driver.Value(nil)
	if run != "" {
		sql, args = selectLettersOfRun, []driver.Value{run}
	}
	return collected(ctx, func() (letters []blackboard.Letter, err error) {
		err = s.read(ctx, func(c *conn) error {
			return c.rows(func(row []driver.Value) error {
				l := blackboard.Letter{Run: text(row[0]), Key: text(row[1]), Expired: integer(row[2]) != 0, Data: bytes(row[3])}
				if c.rowChecksum(row[:4]) != integer(row[4]) {
					return damaged(l.Run, "letter for key %q", l.Key)
				}
				letters = append(letters, l)
				return nil
			}, sql, args...)
		})
		return letters, err
	})
}
