package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

var selectRecords = "SELECT " + recordColumns("log") + " FROM log WHERE id BETWEEN " + recordID + " AND " + lastID + " ORDER BY id"

// Records implements [blackboard.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	return pages(func(p *page[blackboard.Record]) error {
		next := max(from, 0)
		if p.last != nil {
			next = p.last.Seq + 1
		}
		if next > maxSeq {
			return nil
		}
		return s.read(ctx, func(c *conn) error {
			var faulty error
			err := c.rows(func(row []driver.Value) bool {
				var r blackboard.Record
				r, faulty = c.record(run, row[0], row[1])
				return faulty == nil && p.add(r, len(r.Data))
			}, p.limited(selectRecords), run, next)
			return errors.Join(err, faulty)
		})
	})
}
