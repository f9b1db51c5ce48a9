package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard"
)

// The number of the run ?1, which is NULL if there is none, and with it the ids of
// the run's record ?2, of its last one at the latest, and of all of them.
const (
	runNumber = "(SELECT no FROM runs WHERE run = ?1)"
	recordID  = runNumber + " << 32 | ?2"
	lastID    = runNumber + " << 32 | 0xffffffff"
	ofRun     = "id BETWEEN " + runNumber + " << 32 AND " + lastID
	inRange   = "id BETWEEN " + recordID + " AND " + lastID
)

// maxSeq is the largest Seq that an id has room for.
const maxSeq = 1<<32 - 1

// askKinds is the condition of the indexes log_asks and log_asks_name. With IN every
// insert would make a table of the four.
const askKinds = "(kind = 'asked' OR kind = 'answered' OR kind = 'expired' OR kind = 'withdrawn')"

// A record is read as two columns: its Data, and a head of all other fields with
// a separator between them. Ten columns would take the driver twice the time.
// Numbers come first, so that Seq is known whatever the texts hold.
const (
	separator = "\x1f"
	fields    = 9

	selectLog = "SELECT concat_ws('" + separator + "', id & 0xffffffff, ifnull(n, 0), at, sum, kind, " +
		"ifnull(branch, ''), ifnull(name, ''), ifnull(hash, ''), ifnull(blob, '')), CAST(data AS BLOB) FROM log WHERE "

	selectRecords = selectLog + inRange + " ORDER BY id"
	selectLast    = selectLog + ofRun + " ORDER BY id DESC LIMIT 1"
	selectAsks    = selectLog + askKinds + " AND " + inRange + " ORDER BY id"
	selectAsksKey = selectLog + askKinds + " AND name = ?3 AND " + inRange + " ORDER BY id"
	selectTexts   = "SELECT kind, branch, name, hash, blob FROM log WHERE id = " + recordID
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

// records yields what sql selects of the records of run from Seq from on.
func (s *Store) records(ctx context.Context, run string, from int64, sql string, args ...driver.Value) iter.Seq2[blackboard.Record, error] {
	return pages(func(p *page[blackboard.Record]) error {
		next := from
		if p.last != nil {
			next = p.last.Seq + 1
		}
		if next > maxSeq {
			return nil
		}
		return s.read(ctx, func(c *conn) error {
			return c.rows(func(row []driver.Value) error {
				r, err := c.record(run, row)
				if err == nil && sql == selectRecords && r.Seq != next {
					err = damaged(run, "missing record %d", next)
				}
				if err != nil {
					return err
				}
				next = r.Seq + 1
				return p.add(r, len(r.Data))
			}, p.limited(sql), append([]driver.Value{run, next}, args...)...)
		})
	})
}

// Last implements [blackboard.Store].
func (s *Store) Last(ctx context.Context, run string) (r blackboard.Record, err error) {
	err = s.read(ctx, func(c *conn) error {
		row, err := c.first(selectLast, run)
		if err == nil && row == nil {
			err = fmt.Errorf("%w: %q", blackboard.ErrNoRun, run)
		}
		if err == nil {
			r, err = c.record(run, row)
		}
		return err
	})
	return r, err
}

// record reads the columns of selectLog, and checks them.
func (c *conn) record(run string, row []driver.Value) (blackboard.Record, error) {
	f, ok := splitHead(text(row[0]))
	var n [4]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return blackboard.Record{}, damaged(run, "record %s", f[0])
		}
	}
	r := blackboard.Record{
		Run: run, Seq: n[0], N: n[1], At: fromNanos(n[2]),
		Kind: f[4], Branch: f[5], Name: f[6], Hash: f[7], Blob: f[8], Data: bytes(row[1]),
	}
	if !ok {
		row, err := c.first(selectTexts, run, r.Seq)
		if err != nil || row == nil {
			return blackboard.Record{}, err
		}
		r.Kind, r.Branch, r.Name, r.Hash, r.Blob = text(row[0]), text(row[1]), text(row[2]), text(row[3]), text(row[4])
	}
	if c.checksum(&r, n[2]) != n[3] {
		return blackboard.Record{}, damaged(run, "record %d", r.Seq)
	}
	return r, nil
}

// splitHead returns the fields of a head, not ok if a text has a separator in it
// and it is not known which.
func splitHead(head string) (f [fields]string, ok bool) {
	last := len(f) - 1
	for i := range last {
		f[i], head, ok = strings.Cut(head, separator)
	}
	f[last] = head
	return f, ok && !strings.Contains(head, separator)
}
