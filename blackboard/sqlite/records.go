package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

// ofRun are the records of the run ?1 from Seq ?2 on. An unknown run has no number.
const (
	runNumber = "(SELECT no FROM runs WHERE run = ?1)"
	ofRun     = "id BETWEEN " + runNumber + " << 32 | ?2 AND " + runNumber + " << 32 | 0xffffffff"

	selectLog     = "SELECT id & 0xffffffff, " + columns + " FROM log WHERE "
	selectRecords = selectLog + ofRun + " ORDER BY id"
	selectLast    = selectLog + ofRun + " ORDER BY id DESC LIMIT 1"
	selectAsks    = selectLog + askKinds + " AND " + ofRun + " ORDER BY id"
	selectAsksKey = selectLog + askKinds + " AND name = ?3 AND " + ofRun + " ORDER BY id"
)

// Records implements [blackboard.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[blackboard.Record, error] {
	return s.records(ctx, run, max(from, 0), selectRecords)
}

// Asks implements [blackboard.Inbox].
func (s *Store) Asks(ctx context.Context, run, key string) iter.Seq2[blackboard.Record, error] {
	if key == "" {
		return s.records(ctx, run, 0, selectAsks)
	}
	return s.records(ctx, run, 0, selectAsksKey, key)
}

// Last implements [blackboard.Store].
func (s *Store) Last(ctx context.Context, run string) (blackboard.Record, error) {
	for r, err := range s.records(ctx, run, 0, selectLast) {
		return r, err
	}
	return blackboard.Record{}, fmt.Errorf("sqlite: %w: %q", blackboard.ErrNoRun, run)
}

// records yields what sql selects of the records of run from Seq from on.
func (s *Store) records(ctx context.Context, run string, from int64, sql string, args ...driver.Value) iter.Seq2[blackboard.Record, error] {
	return pages(0, func(last *blackboard.Record, add func(blackboard.Record, int) error) error {
		next := from
		if last != nil {
			next = last.Seq + 1
		}
		if next > maxSeq {
			return nil
		}
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			r, ok := c.record(run, row)
			switch {
			case sql == selectRecords && r.Seq != next:
				return damaged(run, "missing record %d", next)
			case !ok:
				return damaged(run, "record %d", r.Seq)
			}
			next++
			return add(r, len(r.Data))
		}, sql, append([]driver.Value{run, next}, args...)...)
	})
}

// Records and lists are read in pages. The first is small, for callers that want
// only a few.
const (
	firstPage = 32
	nextPages = 512
	maxBytes  = 4 << 20 // about as many in a page
)

// pages yields at most limit values, or all for 0, one page after the other. Nothing
// is open or locked meanwhile. read reads those behind the last one, which is nil at
// first, and calls add with each and its size, until that returns [io.EOF] for enough.
func pages[T any](limit int, read func(last *T, add func(v T, bytes int) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		var page []T
		n := 0
		for room := firstPage; ; room = nextPages {
			page = page[:0]
			size, full := 0, false
			err := read(last, func(v T, bytes int) error {
				page = append(page, v)
				size += bytes
				if full = len(page) == room || size >= maxBytes; full {
					return io.EOF
				}
				return nil
			})
			for i := range page {
				if n++; !yield(page[i], nil) || n == limit {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
			}
			if err != nil || !full {
				return
			}
			behind := page[len(page)-1]
			last = &behind
		}
	}
}
