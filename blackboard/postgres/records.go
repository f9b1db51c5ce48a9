package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

// askKinds is the condition of the index log_asks.
const askKinds = "kind IN ('asked', 'answered', 'expired', 'withdrawn')"

const (
	selectLog = "SELECT seq, n, at, sum, kind, branch, name, hash, data, blob FROM @log WHERE no = (SELECT no FROM @runs WHERE run = $1)"

	selectRecords = selectLog + " AND seq >= $2 ORDER BY seq LIMIT $3"
	selectLast    = selectLog + " ORDER BY seq DESC LIMIT 1"
	selectAsks    = selectLog + " AND " + askKinds + " AND seq >= $2 ORDER BY seq LIMIT $3"
	selectAsksKey = selectLog + " AND " + askKinds + " AND left(name, 100) = left($4, 100) AND name = $4 AND seq >= $2 ORDER BY seq LIMIT $3"
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
	return s.records(ctx, run, 0, selectAsksKey, toText(key))
}

// records yields the records of run that sql selects, from Seq from on.
func (s *Store) records(ctx context.Context, run string, from int64, sql string, args ...any) iter.Seq2[runlog.Record, error] {
	return pages(0, func(p *page[runlog.Record]) error {
		next := from
		if p.last != nil {
			next = p.last.Seq + 1
		}
		return s.query(ctx, func(row pgx.Rows) error {
			r, err := record(run, row)
			if err == nil && sql == selectRecords && r.Seq != next {
				err = damaged(run, "missing record %d", next)
			}
			if err != nil {
				return err
			}
			next = r.Seq + 1
			p.add(r, len(r.Data))
			return nil
		}, s.sql.of(sql), append([]any{toText(run), next, p.limit}, args...)...)
	})
}

// Last implements [runlog.Store].
func (s *Store) Last(ctx context.Context, run string) (r runlog.Record, err error) {
	found := false
	err = s.query(ctx, func(row pgx.Rows) (err error) {
		found = true
		r, err = record(run, row)
		return err
	}, s.sql.of(selectLast), toText(run))
	if err == nil && !found {
		err = fmt.Errorf("%w: %q", runlog.ErrNoRun, run)
	}
	if err != nil {
		return runlog.Record{}, err
	}
	return r, nil
}

// record reads a row of selectLog, and checks it.
func record(run string, row pgx.Rows) (runlog.Record, error) { return scanRecord(&run, row) }

// recordWith reads a row of selectLog that has more columns: the ID of the run, then those
// of more. The ID is set also when the record is damaged.
func recordWith(row pgx.Rows, run *string, more ...any) (runlog.Record, error) {
	return scanRecord(run, row, append([]any{run}, more...)...)
}

func scanRecord(run *string, row pgx.Rows, more ...any) (r runlog.Record, err error) {
	var at int64
	var sum int32
	var data []byte
	fields := []any{&r.Seq, &r.N, &at, &sum, &r.Kind, &r.Branch, &r.Name, &r.Hash, &data, &r.Blob}
	if err := row.Scan(append(fields, more...)...); err != nil {
		return runlog.Record{}, err
	}
	if len(more) > 0 {
		*run = fromText(*run)
	}
	r.Run = *run
	for _, text := range []*string{&r.Kind, &r.Branch, &r.Name, &r.Hash, &r.Blob} {
		*text = fromText(*text)
	}
	r.At, r.Data = fromNanos(at), data
	if checksum(&r, at) != sum {
		return runlog.Record{}, damaged(r.Run, "record %d", r.Seq)
	}
	return r, nil
}
