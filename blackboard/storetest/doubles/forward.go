package doubles

import (
	"context"
	"iter"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// extras are the optional interfaces except Notifier and Messenger.
type extras interface {
	runlog.Owners
	runlog.Inbox
	runlog.Questions
	runlog.Blobs
	runlog.Deleter
}

// Store returns the store that fails. It is a [runlog.Notifier] if the wrapped store
// is, never a [runlog.Messenger], and all other optional interfaces if the wrapped
// store is all of them; else it is a plain [runlog.Store]. To hide all optional
// interfaces, wrap it: struct{ runlog.Store }{d.Store()}.
func (d *Double) Store() runlog.Store {
	f := forward{d}
	_, all := runlog.As[extras](d.inner)
	_, notifier := runlog.As[runlog.Notifier](d.inner)
	switch {
	case all && notifier:
		return f
	case all:
		return struct {
			runlog.Store
			extras
			runlog.OpenQuestions
		}{f, f, f}
	case notifier:
		return struct {
			runlog.Store
			runlog.Notifier
		}{f, f}
	}
	return struct{ runlog.Store }{f}
}

// forward is a Double as a store.
type forward struct{ d *Double }

func (f forward) Append(ctx context.Context, recs []runlog.Record) error {
	return f.d.call(ctx, "Append", func() error { return f.d.inner.Append(ctx, recs) })
}

func (f forward) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return sequence(ctx, f.d, "Records", f.d.inner.Records(ctx, run, from))
}

func (f forward) Last(ctx context.Context, run string) (rec runlog.Record, err error) {
	err = f.d.call(ctx, "Last", func() error {
		rec, err = f.d.inner.Last(ctx, run)
		return err
	})
	return rec, err
}

func (f forward) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	return sequence(ctx, f.d, "List", f.d.inner.List(ctx, q))
}

func (f forward) Beat(ctx context.Context, owner string, d time.Duration) error {
	return f.d.call(ctx, "Beat", func() error { return f.extras().Beat(ctx, owner, d) })
}

func (f forward) Leave(ctx context.Context, owner string) error {
	return f.d.call(ctx, "Leave", func() error { return f.extras().Leave(ctx, owner) })
}

func (f forward) Alive(ctx context.Context, owner string) (alive bool, err error) {
	err = f.d.call(ctx, "Alive", func() error {
		alive, err = f.extras().Alive(ctx, owner)
		return err
	})
	return alive, err
}

func (f forward) Orphans(ctx context.Context) iter.Seq2[runlog.Listing, error] {
	return sequence(ctx, f.d, "Orphans", f.extras().Orphans(ctx))
}

func (f forward) Changes(ctx context.Context) iter.Seq2[string, error] {
	n, _ := runlog.As[runlog.Notifier](f.d.inner) // Store has looked
	return sequence(ctx, f.d, "Changes", n.Changes(ctx))
}

func (f forward) Put(ctx context.Context, l runlog.Letter) error {
	return f.d.call(ctx, "Put", func() error { return f.extras().Put(ctx, l) })
}

func (f forward) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	return sequence(ctx, f.d, "Letters", f.extras().Letters(ctx, run))
}

func (f forward) Take(ctx context.Context, run, key string, round int) error {
	return f.d.call(ctx, "Take", func() error { return f.extras().Take(ctx, run, key, round) })
}

func (f forward) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	return sequence(ctx, f.d, "Asks", f.extras().Asks(ctx, run, key))
}

// OpenAsks reads the logs where the wrapped store has no index.
func (f forward) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	return sequence(ctx, f.d, "OpenAsks", runlog.OpenAsks(ctx, f.d.inner, q))
}

func (f forward) PutBlob(ctx context.Context, run string, data []byte) (hash string, err error) {
	err = f.d.call(ctx, "PutBlob", func() error {
		hash, err = f.extras().PutBlob(ctx, run, data)
		return err
	})
	return hash, err
}

func (f forward) Blob(ctx context.Context, run, hash string) (data []byte, err error) {
	err = f.d.call(ctx, "Blob", func() error {
		data, err = f.extras().Blob(ctx, run, hash)
		return err
	})
	return data, err
}

func (f forward) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return sequence(ctx, f.d, "BlobsOf", f.extras().BlobsOf(ctx, run))
}

func (f forward) Delete(ctx context.Context, runs ...string) error {
	return f.d.call(ctx, "Delete", func() error { return f.extras().Delete(ctx, runs...) })
}

func (f forward) extras() extras {
	e, _ := runlog.As[extras](f.d.inner) // Store has looked
	return e
}

// sequence applies the fault of the moment when a loop over seq begins.
func sequence[T any](ctx context.Context, d *Double, method string, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := d.call(ctx, method, func() error { return nil }); err != nil {
			var none T
			yield(none, err)
			return
		}
		seq(yield)
	}
}
