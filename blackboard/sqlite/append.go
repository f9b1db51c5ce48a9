package sqlite

import (
	"context"
	"fmt"

	"github.com/convene-go/convene/blackboard"
)

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
		_, err := c.insert(&calls[0].recs[0], place{}) // an INSERT is a transaction by itself
		return err
	}
	return c.transaction(func() (err error) {
		var last place
		for _, call := range calls {
			for i := range call.recs {
				if last, err = c.insertNoted(&call.recs[i], last); err != nil {
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
			if _, err := c.insertNoted(&recs[i], place{}); err != nil {
				return err
			}
		}
		return nil
	})
}
