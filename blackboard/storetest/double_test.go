package storetest

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard"
)

type (
	recordSeq = iter.Seq2[blackboard.Record, error]
	runSeq    = iter.Seq2[[2]blackboard.Record, error]
)

// double is a Memory of which single methods are replaced.
type double struct {
	*blackboard.Memory
	append  func(ctx context.Context, recs []blackboard.Record) error
	records func(ctx context.Context, run string, from int64) recordSeq
	runs    func(ctx context.Context, open bool) runSeq
	lease   func(ctx context.Context, name, owner string, d time.Duration) error
	put     func(ctx context.Context, l blackboard.Letter) error
	letters func(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error]
	putBlob func(ctx context.Context, run string, data []byte) (string, error)
	blob    func(ctx context.Context, run, hash string) ([]byte, error)
	blobsOf func(ctx context.Context, run string) iter.Seq2[[]byte, error]
	delete  func(ctx context.Context, run string) error
}

// newDouble returns a double without a fault.
func newDouble() *double {
	m := blackboard.NewMemory()
	return &double{
		Memory: m, append: m.Append, records: m.Records, runs: m.Runs, lease: m.Lease, put: m.Put,
		letters: m.Letters, putBlob: m.PutBlob, blob: m.Blob, blobsOf: m.BlobsOf, delete: m.Delete,
	}
}

func (d *double) Append(ctx context.Context, recs []blackboard.Record) error {
	return d.append(ctx, recs)
}

func (d *double) Records(ctx context.Context, run string, from int64) recordSeq {
	return d.records(ctx, run, from)
}

func (d *double) Runs(ctx context.Context, open bool) runSeq { return d.runs(ctx, open) }

func (d *double) Lease(ctx context.Context, name, owner string, dur time.Duration) error {
	return d.lease(ctx, name, owner, dur)
}

func (d *double) Put(ctx context.Context, l blackboard.Letter) error { return d.put(ctx, l) }

func (d *double) Letters(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
	return d.letters(ctx, run)
}

func (d *double) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	return d.putBlob(ctx, run, data)
}

func (d *double) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	return d.blob(ctx, run, hash)
}

func (d *double) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return d.blobsOf(ctx, run)
}

func (d *double) Delete(ctx context.Context, run string) error { return d.delete(ctx, run) }

// mapSeq changes what a sequence yields.
func mapSeq[T any](seq iter.Seq2[T, error], change func(T) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if !yield(change(v), err) {
				return
			}
		}
	}
}

// mapAppend changes what is appended.
func mapAppend(change func(*blackboard.Record)) func(*double) {
	return func(d *double) {
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			changed := make([]blackboard.Record, len(recs))
			for i, r := range recs {
				change(&r)
				changed[i] = r
			}
			return d.Memory.Append(ctx, changed)
		}
	}
}

// locked holds mu while seq yields.
func locked[T any](mu *sync.Mutex, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		mu.Lock()
		defer mu.Unlock()
		seq(yield)
	}
}

// limited yields no more than n values.
func limited[T any](seq iter.Seq2[T, error], n int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		i := 0
		for v, err := range seq {
			if i++; i > n || !yield(v, err) {
				return
			}
		}
	}
}

// length returns how many records a run has.
func length(ctx context.Context, d *double, run string) int64 {
	var n int64
	for _, err := range d.Memory.Records(ctx, run, 0) {
		if err == nil {
			n++
		}
	}
	return n
}
