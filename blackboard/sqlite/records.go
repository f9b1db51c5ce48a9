package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// What is stored comes back from three columns: a number, the head, and Data. The head
// has all other fields of a record in binary, behind a checksum of everything; a
// column for each field would take the driver several times as long. The tables have
// such fields as columns too, as queries and people need them, but what is read is the
// head. Letters and the entries of the list of runs are stored as records.
const columns = "CAST(head AS TEXT), CAST(data AS BLOB)"

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

// Records implements [runlog.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return s.records(ctx, run, max(from, 0), selectRecords)
}

// Asks implements [runlog.Questions].
func (s *Store) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	if key == "" {
		return s.records(ctx, run, 0, selectAsks)
	}
	return s.records(ctx, run, 0, selectAsksKey, key)
}

// Last implements [runlog.Store].
func (s *Store) Last(ctx context.Context, run string) (runlog.Record, error) {
	for r, err := range s.records(ctx, run, 0, selectLast) {
		return r, err
	}
	return runlog.Record{}, fmt.Errorf("sqlite: %w: %q", runlog.ErrNoRun, run)
}

// records yields what sql selects of the records of run from Seq from on.
func (s *Store) records(ctx context.Context, run string, from int64, sql string, args ...driver.Value) iter.Seq2[runlog.Record, error] {
	return pages(0, func(last *runlog.Record, add func(runlog.Record, int) error) error {
		next := from
		if last != nil {
			next = last.Seq + 1
		}
		if next > maxSeq {
			return nil
		}
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			r, err := c.logged(run, row)
			if sql == selectRecords && r.Seq != next {
				err = damaged(run, "missing record %d", next)
			}
			if err != nil {
				return err
			}
			next++
			return add(r, len(r.Data))
		}, sql, append([]driver.Value{run, next}, args...)...)
	})
}

// logged reads a row of the log.
func (c *conn) logged(run string, row []driver.Value) (runlog.Record, error) {
	r, ok := c.record(run, row)
	if !ok {
		return r, damaged(run, "record %d", r.Seq)
	}
	return r, nil
}

// record reads a row that begins with a number, which is the Seq, and columns. It is not
// ok if it is damaged.
func (c *conn) record(run string, row []driver.Value) (r runlog.Record, ok bool) {
	head := as[string](row[1])
	f := fields(head)
	f.cut(4)
	r = runlog.Record{Run: run, Seq: as[int64](row[0]), N: f.integer(), Data: as[[]byte](row[2])}
	at := f.integer()
	r.At = fromNanos(at)
	r.Kind, r.Branch, r.Name, r.Hash, r.Blob = f.text(), f.text(), f.text(), f.text(), f.text()
	return r, string(c.head(&r, at)) == head
}

func damaged(run, format string, args ...any) error {
	return fmt.Errorf("%w: %s of run %q: restore the file from a copy", runlog.ErrDamaged, fmt.Sprintf(format, args...), run)
}

// fields is the rest of a head. Fields that are missing are zero.
type fields string

func (f *fields) cut(n int64) string {
	n = max(0, min(n, int64(len(*f))))
	head := (*f)[:n]
	*f = (*f)[n:]
	return string(head)
}

func (f *fields) integer() int64 {
	n, size := binary.Varint([]byte((*f)[:min(len(*f), binary.MaxVarintLen64)]))
	f.cut(int64(size))
	return n
}

func (f *fields) text() string { return f.cut(f.integer()) }

// head returns the head of r, whose time is at. It is valid until the next call.
func (c *conn) head(r *runlog.Record, at int64) []byte {
	b := binary.LittleEndian.AppendUint64(append(c.buf[:0], r.Run...), uint64(r.Seq))
	sum := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.AppendVarint(binary.AppendVarint(b, r.N), at)
	for _, s := range [...]string{r.Kind, r.Branch, r.Name, r.Hash, r.Blob} {
		b = append(binary.AppendVarint(b, int64(len(s))), s...)
	}
	c.buf = b
	binary.LittleEndian.PutUint32(b[sum:], crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, r.Data))
	return b[sum:]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// What is read comes in pages. The first is small, for callers that want only a few.
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
		for room, full := firstPage, true; full; room = nextPages {
			page, full = page[:0], false
			if limit > 0 {
				room = min(nextPages, limit-n)
			}
			size := 0
			err := read(last, func(v T, bytes int) error {
				page = append(page, v)
				size += bytes
				if full = len(page) >= room || size >= maxBytes; full {
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
				yield(*new(T), err)
				return
			}
			if full {
				v := page[len(page)-1]
				last = &v
			}
		}
	}
}

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

// minTime and maxTime are the times that nanoseconds since 1970 have room for.
var minTime, maxTime = time.Unix(0, noTime+1), time.Unix(0, math.MaxInt64)

// nanos returns t in nanoseconds since 1970, not ok if there is no room for it.
func nanos(t time.Time) (n int64, ok bool) {
	if t.IsZero() {
		return noTime, true
	}
	return t.UnixNano(), !t.Before(minTime) && !t.After(maxTime)
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
