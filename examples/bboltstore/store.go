// Package bboltstore is a store of one's own in fewer than 300 lines of code: runs in one
// file of go.etcd.io/bbolt, a B+ tree with transactions. Read it to write another one.
//
// It has three faces. [runlog.Store] is required. With [runlog.Inbox] other goroutines
// answer and cancel runs also while nothing executes them, and with [runlog.Deleter] runs
// can be forgotten. Without the others engines do less: the tests say what.
//
// The file has a bucket for each run:
//
//	run/listing         what a list shows of the run
//	run/log/SEQ         a record
//	run/letters/KEY/N   the letter for round N of a question; empty once it is taken
//
// Two rules matter. All that a method changes is one transaction. And no transaction is
// open while a sequence yields, because the body of the loop may call the store: so what
// is long is read in pages.
package bboltstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Store keeps runs in a file. It is a [runlog.Store], [runlog.Inbox] and
// [runlog.Deleter].
type Store struct{ db *bbolt.DB }

// page is how many records are read in one transaction.
const page = 256

var logKey, lettersKey, listingKey = []byte("log"), []byte("letters"), []byte("listing")

// Open opens the file, or makes it. One process at a time can have it open.
func Open(file string) (*Store, error) {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("bboltstore: %w", err)
	}
	return &Store{db}, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// name is the key of a run or question: bbolt has no empty keys.
func name(s string) []byte { return []byte("=" + s) }

// number is n as a key, in the order of numbers.
func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) } //nolint:gosec // never negative

// A record and a letter are stored as JSON, but for their Data: JSON would change its
// spaces, and it has to come back byte for byte.
type (
	storedRecord struct {
		runlog.Record
		Data []byte `json:"data,omitempty"`
	}
	storedLetter struct {
		runlog.Letter
		Data []byte
	}
)

// put stores v as JSON.
func put(b *bbolt.Bucket, key []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}

// get reads JSON into v; where names what is damaged.
func get(data []byte, v any, where string, args ...any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %s: %w", runlog.ErrDamaged, fmt.Sprintf(where, args...), err)
	}
	return nil
}

// update calls f in a transaction that changes the file, unless ctx is done.
func (s *Store) update(ctx context.Context, f func(tx *bbolt.Tx) error) error {
	return cmp.Or(ctx.Err(), s.db.Update(func(tx *bbolt.Tx) error { return cmp.Or(ctx.Err(), f(tx)) }))
}

// view calls f in a transaction that reads.
func (s *Store) view(ctx context.Context, f func(tx *bbolt.Tx) error) error {
	return cmp.Or(ctx.Err(), s.db.View(f))
}

// listing reads what a list shows of the run in b; b nil: it has no record yet.
func listing(b *bbolt.Bucket) (l runlog.Listing, err error) {
	if b == nil {
		return l, nil
	}
	return l, get(b.Get(listingKey), &l, "a listing")
}

// Append implements [runlog.Store]. An error undoes the transaction.
func (s *Store) Append(ctx context.Context, recs []runlog.Record) error {
	return s.update(ctx, func(tx *bbolt.Tx) error {
		for _, rec := range recs {
			l, err := listing(tx.Bucket(name(rec.Run)))
			if err != nil {
				return err
			}
			if l.Ended || rec.Seq != l.Next {
				return fmt.Errorf("%w: record %d of run %q, whose next is %d, ended: %t", runlog.ErrConflict, rec.Seq, rec.Run, l.Next, l.Ended)
			}
			rec.At = rec.At.Round(0).UTC()
			if err := l.Add(rec); err != nil {
				return err
			}
			run, err := tx.CreateBucketIfNotExists(name(rec.Run))
			if err != nil {
				return err
			}
			log, err := run.CreateBucketIfNotExists(logKey)
			if err != nil {
				return err
			}
			if err := errors.Join(put(log, number(rec.Seq), storedRecord{rec, rec.Data}), put(run, listingKey, l)); err != nil {
				return err
			}
		}
		return nil
	})
}

// some reads at most limit records of a run, from Seq from on.
func (s *Store) some(ctx context.Context, run string, from int64, limit int) (recs []runlog.Record, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		b := tx.Bucket(name(run))
		if b == nil {
			return nil
		}
		c := b.Bucket(logKey).Cursor()
		for k, v := c.Seek(number(from)); k != nil && len(recs) < limit; k, v = c.Next() {
			var rec storedRecord
			if err := get(v, &rec, "record %d of run %q", binary.BigEndian.Uint64(k), run); err != nil {
				return err
			}
			rec.Record.Data = rec.Data
			recs = append(recs, rec.Record)
		}
		return nil
	})
	return recs, err
}

// Records implements [runlog.Store].
func (s *Store) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for next := max(from, 0); ; {
			recs, err := s.some(ctx, run, next, page)
			for _, rec := range recs { // those before a damaged one, too
				if ctx.Err() != nil {
					break
				}
				if !yield(rec, nil) {
					return
				}
				next = rec.Seq + 1
			}
			if err = cmp.Or(ctx.Err(), err); err != nil {
				yield(runlog.Record{}, err)
				return
			}
			if len(recs) < page {
				return
			}
		}
	}
}

// Last implements [runlog.Store].
func (s *Store) Last(ctx context.Context, run string) (last runlog.Record, err error) {
	l, err := s.one(ctx, run)
	if err != nil {
		return last, err
	}
	for rec, err := range s.Records(ctx, run, l.Next-1) {
		return rec, err
	}
	return last, fmt.Errorf("%w: %q", runlog.ErrNoRun, run) // it was deleted just now
}

// one is what a list shows of a run, or ErrNoRun.
func (s *Store) one(ctx context.Context, run string) (l runlog.Listing, err error) {
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		if l, err = listing(tx.Bucket(name(run))); err == nil && l.Next == 0 {
			err = fmt.Errorf("%w: %q", runlog.ErrNoRun, run)
		}
		return err
	})
	return l, err
}

// List implements [runlog.Store]. It looks at the listing of each run; a store for many
// thousands of runs would keep an index by time.
func (s *Store) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	newestFirst := func(a, b runlog.Listing) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Run, b.Run))
	}
	return yieldAll(ctx, func() (list []runlog.Listing, err error) {
		var after runlog.Listing
		if q.After != "" {
			if after, err = s.one(ctx, q.After); err != nil {
				return nil, err
			}
		}
		err = s.view(ctx, func(tx *bbolt.Tx) error {
			return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
				l, err := listing(b)
				if err == nil && q.Selects(l) && (q.After == "" || newestFirst(after, l) < 0) {
					list = append(list, l)
				}
				return err
			})
		})
		slices.SortFunc(list, newestFirst)
		if q.Limit > 0 && len(list) > q.Limit {
			list = list[:q.Limit]
		}
		return list, err
	})
}

// yieldAll yields what read returns, and no more once ctx is done.
func yieldAll[T any](ctx context.Context, read func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		all, err := read()
		for i := 0; i < len(all) && err == nil; i++ {
			if err = ctx.Err(); err == nil && !yield(all[i], nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}
