package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"iter"
	"math"

	"github.com/convene-go/convene/blackboard"
)

// CROSS JOIN keeps the order of the tables, and with it that of the index.
var (
	selectRuns = "SELECT runs.run, " + recordColumns("first") + ", " + recordColumns("last") + `
		FROM runs
		CROSS JOIN log first ON first.id = runs.no << 32
		CROSS JOIN log last ON last.id = (SELECT max(id) FROM log WHERE id BETWEEN runs.no << 32 AND runs.no << 32 | 0xffffffff)
		WHERE runs.started_at <= ? AND (runs.started_at < ? OR runs.run > ?)`
	runsOrder = " ORDER BY runs.started_at DESC, runs.run"

	selectAllRuns  = selectRuns + runsOrder
	selectOpenRuns = selectRuns + " AND runs.ended = 0" + runsOrder
)

// Runs implements [blackboard.Store].
func (s *Store) Runs(ctx context.Context, open bool) iter.Seq2[[2]blackboard.Record, error] {
	sql := selectAllRuns
	if open {
		sql = selectOpenRuns
	}
	return pages(func(p *page[[2]blackboard.Record]) error {
		at, run := int64(math.MaxInt64), ""
		if p.last != nil {
			at, _ = toNanos(p.last[0].At) // was stored
			run = p.last[0].Run
		}
		return s.read(ctx, func(c *conn) error {
			var faulty error
			err := c.rows(func(row []driver.Value) bool {
				run := text(row[0])
				first, firstErr := c.record(run, row[1], row[2])
				last, lastErr := c.record(run, row[3], row[4])
				faulty = errors.Join(firstErr, lastErr)
				return faulty == nil && p.add([2]blackboard.Record{first, last}, len(first.Data)+len(last.Data))
			}, p.limited(sql), at, at, run)
			return errors.Join(err, faulty)
		})
	})
}
