package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

var selectRecords = "SELECT " + recordColumns("log") + " FROM log WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?"

// Records implements [blackboard.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	return pages(func(p *page[blackboard.Record]) error {
		next := from
		if p.last != nil {
			next = p.last.Seq + 1
		}
		return s.read(ctx, func(c *conn) error {
			var faulty error
			err := c.rows(func(row []driver.Value) bool {
				var r blackboard.Record
				r, faulty = c.record(run, row[0], row[1])
				return faulty == nil && p.add(r, len(r.Data))
			}, selectRecords, run, next, p.limit)
			return errors.Join(err, faulty)
		})
	})
}
