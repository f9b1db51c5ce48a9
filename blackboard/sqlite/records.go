package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

const (
	recordColumns = "seq, kind, branch, n, name, hash, at, blob, CAST(data AS BLOB)"

	selectRecords = "SELECT " + recordColumns + " FROM log WHERE run = ? AND seq >= ? ORDER BY seq LIMIT ?"
)

// Records implements [blackboard.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	return pages(func(p *page[blackboard.Record]) error {
		next := from
		if p.last != nil {
			next = p.last.Seq + 1
		}
		return s.read(ctx, func(c *conn) error {
			return c.rows(func(row []driver.Value) bool {
				r := record(run, row)
				return p.add(r, len(r.Data))
			}, selectRecords, run, next, p.limit)
		})
	})
}

// record reads recordColumns.
func record(run string, row []driver.Value) blackboard.Record {
	return blackboard.Record{
		Run: run, Seq: integer(row[0]), Kind: text(row[1]), Branch: text(row[2]), N: integer(row[3]), Name: text(row[4]),
		Hash: text(row[5]), At: fromNanos(integer(row[6])), Blob: text(row[7]), Data: bytes(row[8]),
	}
}
