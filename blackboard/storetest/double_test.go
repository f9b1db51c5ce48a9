package storetest

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

type (
	recordSeq = iter.Seq2[runlog.Record, error]
	listSeq   = iter.Seq2[runlog.Listing, error]
	openSeq   = iter.Seq2[runlog.OpenAsk, error]
	blobSeq   = iter.Seq2[[]byte, error]
)

// double is a Memory of which single methods are replaced.
type double struct {
	*runlog.Memory
	append  func(ctx context.Context, recs []runlog.Record) error
	records func(ctx context.Context, run string, from int64) recordSeq
	last    func(ctx context.Context, run string) (runlog.Record, error)
	list    func(ctx context.Context, q runlog.Query) listSeq
	beat    func(ctx context.Context, owner string, d time.Duration) error
	leave   func(ctx context.Context, owner string) error
	alive   func(ctx context.Context, owner string) (bool, error)
	orphans func(ctx context.Context) listSeq
	changes func(ctx context.Context) iter.Seq2[string, error]
	request func(ctx context.Context, owner string, data []byte) ([]byte, error)
	serve   func(ctx context.Context, owner string, handle handler) error
	put     func(ctx context.Context, l runlog.Letter) error
	letters func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error]
	take    func(ctx context.Context, run, key string, round int) error
	asks    func(ctx context.Context, run, key string) recordSeq
	open    func(ctx context.Context, q runlog.AskQuery) openSeq
	putBlob func(ctx context.Context, run string, data []byte) (string, error)
	blob    func(ctx context.Context, run, hash string) ([]byte, error)
	blobsOf func(ctx context.Context, run string) iter.Seq2[[]byte, error]
	delete  func(ctx context.Context, runs ...string) error
	damaged map[string]bool // records and blobs that were damaged, by run and number
}

// newDouble returns a double without a fault.
func newDouble() *double {
	m := runlog.NewMemory()
	return &double{
		Memory: m, append: m.Append, records: m.Records, last: m.Last, list: m.List, beat: m.Beat, leave: m.Leave,
		alive: m.Alive, orphans: m.Orphans, changes: m.Changes, request: m.Request, serve: m.Serve, put: m.Put, letters: m.Letters,
		take: m.Take, asks: m.Asks, open: m.OpenAsks,
		putBlob: m.PutBlob, blob: m.Blob, blobsOf: m.BlobsOf, delete: m.Delete, damaged: make(map[string]bool),
	}
}

func (d *double) Append(ctx context.Context, recs []runlog.Record) error {
	return d.append(ctx, recs)
}

func (d *double) Records(ctx context.Context, run string, from int64) recordSeq {
	return d.records(ctx, run, from)
}

func (d *double) Last(ctx context.Context, run string) (runlog.Record, error) {
	return d.last(ctx, run)
}

func (d *double) List(ctx context.Context, q runlog.Query) listSeq { return d.list(ctx, q) }

func (d *double) Beat(ctx context.Context, owner string, dur time.Duration) error {
	return d.beat(ctx, owner, dur)
}

func (d *double) Leave(ctx context.Context, owner string) error { return d.leave(ctx, owner) }

func (d *double) Alive(ctx context.Context, owner string) (bool, error) { return d.alive(ctx, owner) }

func (d *double) Orphans(ctx context.Context) listSeq { return d.orphans(ctx) }

func (d *double) Changes(ctx context.Context) iter.Seq2[string, error] { return d.changes(ctx) }

func (d *double) Request(ctx context.Context, owner string, data []byte) ([]byte, error) {
	return d.request(ctx, owner, data)
}

func (d *double) Serve(ctx context.Context, owner string, handle handler) error {
	return d.serve(ctx, owner, handle)
}

func (d *double) Take(ctx context.Context, run, key string, round int) error {
	return d.take(ctx, run, key, round)
}

func (d *double) Asks(ctx context.Context, run, key string) recordSeq { return d.asks(ctx, run, key) }

func (d *double) OpenAsks(ctx context.Context, q runlog.AskQuery) openSeq { return d.open(ctx, q) }

func (d *double) Put(ctx context.Context, l runlog.Letter) error { return d.put(ctx, l) }

func (d *double) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
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

func (d *double) Delete(ctx context.Context, runs ...string) error { return d.delete(ctx, runs...) }

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
func mapAppend(change func(*runlog.Record)) func(*double) {
	return func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			changed := make([]runlog.Record, len(recs))
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
