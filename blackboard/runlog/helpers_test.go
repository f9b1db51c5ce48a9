package runlog_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// day is when the runs of these tests begin.
var day = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

// all returns what a sequence yields. An error fails the test.
func all[T any](t require.TestingT, seq iter.Seq2[T, error]) (vs []T) {
	for v, err := range seq {
		require.NoError(t, err)
		vs = append(vs, v)
	}
	return vs
}

// failure returns the first error that a sequence yields. More after it fail the test.
func failure[T any](t testing.TB, seq iter.Seq2[T, error]) (first error) {
	t.Helper()
	for _, err := range seq {
		require.NoError(t, first, "a sequence yields nothing after an error")
		first = err
	}
	return first
}

// runsOf returns the IDs of listings.
func runsOf(ls []runlog.Listing) (runs []string) {
	for _, l := range ls {
		runs = append(runs, l.Run)
	}
	return runs
}

// entry is a record that no listing reads, seq seconds after day.
func entry(run string, seq int64) runlog.Record {
	return runlog.Record{Run: run, Seq: seq, Kind: runlog.Called, At: day.Add(time.Duration(seq) * time.Second)}
}

// appended appends records to a new store.
func appended(t testing.TB, recs ...runlog.Record) *runlog.Memory {
	t.Helper()
	m := runlog.NewMemory()
	require.NoError(t, m.Append(t.Context(), recs))
	return m
}

var errDisk = errors.New("the disk fails")

// failing is a store of which single methods fail with errDisk.
type failing struct {
	*runlog.Memory
	last    bool // Last fails
	records int  // Records fails after that many; 0: never
	append  bool // Append fails
	blobs   bool // PutBlob and BlobsOf fail
	appends int  // calls of Append
}

func (f *failing) Last(ctx context.Context, run string) (runlog.Record, error) {
	if f.last {
		return runlog.Record{}, errDisk
	}
	return f.Memory.Last(ctx, run)
}

func (f *failing) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		n := 0
		for rec, err := range f.Memory.Records(ctx, run, from) {
			if n++; f.records > 0 && n > f.records {
				yield(runlog.Record{}, errDisk)
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func (f *failing) Append(ctx context.Context, recs []runlog.Record) error {
	if f.appends++; f.append {
		return errDisk
	}
	return f.Memory.Append(ctx, recs)
}

func (f *failing) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	if f.blobs {
		return "", errDisk
	}
	return f.Memory.PutBlob(ctx, run, data)
}

func (f *failing) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	if f.blobs {
		return func(yield func([]byte, error) bool) { yield(nil, errDisk) }
	}
	return f.Memory.BlobsOf(ctx, run)
}
