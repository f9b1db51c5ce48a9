package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

const insertRecord = `INSERT OR ROLLBACK INTO log(run, seq, kind, branch, n, name, hash, at, data, blob)
	VALUES(?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?)`

// Append implements [blackboard.Store]. Calls that come while another is under
// way are written together, with one wait for the disk; a conflict of one is none
// of the others. A record whose time is before 1678 or after 2261 is an error,
// unless it is the zero time.
func (s *Store) Append(ctx context.Context, recs []blackboard.Record) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if len(recs) == 0 {
		return nil
	}
	return s.appends.add(ctx, recs, s.commit)
}

// commit writes the records of several calls and sets their errors.
func (s *Store) commit(calls []*call) {
	s.write.Lock()
	defer s.write.Unlock()
	err := s.writer.insertAll(calls)
	for _, c := range calls {
		c.err = err
		if err != nil && code(err) == 0 {
			// Not SQLite's fault but that of a call, which is rare: each goes alone.
			c.err = s.writer.insertSlowly(c.recs)
		}
		if c.err != nil {
			c.err = fmt.Errorf("sqlite: append: %w", explain(c.err))
		}
	}
}

// insertAll writes the records of all calls, or none.
func (c *conn) insertAll(calls []*call) error {
	if len(calls) == 1 && len(calls[0].recs) == 1 && !notable(&calls[0].recs[0]) {
		return c.insert(&calls[0].recs[0]) // an INSERT is a transaction by itself
	}
	return c.transaction(func() error {
		for _, call := range calls {
			for i := range call.recs {
				if err := c.insertNoted(&call.recs[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// insertSlowly writes the records of one call, also after the end of a run.
func (c *conn) insertSlowly(recs []blackboard.Record) error {
	return c.transaction(func() error {
		for i := range recs {
			if _, err := c.run("UPDATE runs SET ended = 0 WHERE run = ? AND ended = 1", recs[i].Run); err != nil {
				return err
			}
			if err := c.insertNoted(&recs[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// notable says whether the tables beside the log change with r.
func notable(r *blackboard.Record) bool {
	switch r.Kind {
	case blackboard.Ended, blackboard.Answered, blackboard.Canceled:
		return true
	}
	return r.Seq == 0
}

// insertNoted writes a record and what it means for the list of runs and the inbox.
func (c *conn) insertNoted(r *blackboard.Record) error {
	if err := c.insert(r); err != nil {
		return err
	}
	if r.Seq == 0 {
		at, err := toNanos(r.At)
		if err != nil {
			return err
		}
		if _, err := c.run("INSERT INTO runs(run, started_at, ended) VALUES(?, ?, 0)", r.Run, at); err != nil {
			return err
		}
	}
	var err error
	switch r.Kind {
	case blackboard.Ended:
		_, err = c.run("UPDATE runs SET ended = 1 WHERE run = ?", r.Run)
	case blackboard.Answered:
		_, err = c.run("DELETE FROM letters WHERE run = ? AND key = ? AND key <> ''", r.Run, r.Name)
	case blackboard.Canceled:
		_, err = c.run("DELETE FROM letters WHERE run = ? AND key = ''", r.Run)
	}
	return err
}

// insert writes one record.
func (c *conn) insert(r *blackboard.Record) error {
	at, err := toNanos(r.At)
	if err != nil {
		return fmt.Errorf("record %d of run %q: %w", r.Seq, r.Run, err)
	}
	var n driver.Value
	if r.N != 0 {
		n = r.N
	}
	_, err = c.run(
		insertRecord, r.Run, r.Seq, r.Kind, textOrNull(r.Branch), n, textOrNull(r.Name), textOrNull(r.Hash),
		at, bytesOrNull(r.Data), textOrNull(r.Blob),
	)
	switch extendedCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return fmt.Errorf("%w: record %d of run %q is taken or leaves a gap", blackboard.ErrConflict, r.Seq, r.Run)
	}
	return err
}
