package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/final"
)

// Storage is what an engine asks of its store, or of the memory that it has in place of
// one. A stand-in answers for each face that a store does not have. What stores keep
// beside the log is in Data already.
type Storage struct {
	runlog.Store
	runlog.Inbox // nil: the store has none
	runlog.Owners
	runlog.Messenger
	runlog.Blobs
	runlog.Deleter
}

// open returns the faces of s, or with nil those of a memory.
func open(s runlog.Store) (Storage, *memory) {
	if s == nil {
		m := newMemory()
		return Storage{m, nil, none{}, none{}, none{}, m}, m
	}
	inbox, _ := runlog.As[runlog.Inbox](s)
	return Storage{
		s, inbox, or[runlog.Owners](s), or[runlog.Messenger](s), or[runlog.Blobs](s), or[runlog.Deleter](s),
	}, nil
}

// or is s as a T, or what stands in for it.
func or[T any](s runlog.Store) T {
	if face, ok := runlog.As[T](s); ok {
		return face
	}
	return any(none{}).(T) //nolint:errcheck,forcetypeassert // none has all faces that are asked for
}

// Records yields records with what is kept beside the log.
func (s Storage) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return s.whole(ctx, s.Store.Records(ctx, run, from))
}

// Asks yields the records that tell the states of a run's questions; see runlog.Asks.
func (s Storage) Asks(ctx context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	return s.whole(ctx, runlog.Asks(ctx, s.Store, run, key))
}

// OpenAsks yields the questions of all runs that wait; see runlog.OpenAsks.
func (s Storage) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	return each(runlog.OpenAsks(ctx, s.Store, q), func(a *runlog.OpenAsk) error { return s.fill(ctx, &a.Record) })
}

// whole yields records with the data of their blobs.
func (s Storage) whole(ctx context.Context, recs iter.Seq2[runlog.Record, error]) iter.Seq2[runlog.Record, error] {
	return each(recs, func(rec *runlog.Record) error { return s.fill(ctx, rec) })
}

// fill takes the data of a record's blob into the record.
func (s Storage) fill(ctx context.Context, rec *runlog.Record) (err error) {
	if rec.Blob == "" {
		return nil
	}
	if rec.Data, err = s.Blob(ctx, rec.Run, rec.Blob); err != nil {
		err = fmt.Errorf("log of run %q: %w", rec.Run, err)
	}
	rec.Blob = ""
	return err
}

// each yields values after change, whose error ends the sequence.
func each[T any](seq iter.Seq2[T, error], change func(*T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			if err == nil {
				err = change(&v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Decode decodes the Data of a record into data.
func Decode(rec *runlog.Record, data any) error {
	if err := json.Unmarshal(rec.Data, data); err != nil {
		return fmt.Errorf("log of run %q: record %d: %w: %w", rec.Run, rec.Seq, runlog.ErrDamaged, err)
	}
	return nil
}

// Read decodes the Data of record number seq of a run into data. A run or record that is
// not there is ErrNoRun.
func (s Storage) Read(ctx context.Context, run string, seq int64, data any) error {
	for rec, err := range s.Records(ctx, run, seq) {
		if err == nil {
			err = Decode(&rec, data)
		}
		return err
	}
	return s.NoRun(run) // it was deleted meanwhile
}

// Figures sets in v what the run of its Listing has used: by its end, or by the records that
// base counts and those that follow, or by the last Tally in its log and those that follow.
func (s Storage) Figures(ctx context.Context, base engine.Tally, v *engine.View) (err error) {
	if v.Ended {
		return s.end(ctx, v)
	}
	var t engine.Tally
	if m, ok := s.Store.(*memory); ok {
		_, t, err = m.find(v.Run).look()
	} else {
		t, err = engine.ReadTally(base, v.Next, func(from int64) iter.Seq2[runlog.Record, error] { return s.light(ctx, v.Run, from) })
	}
	v.SetTally(&t)
	return err
}

// light yields records with the part of Data that tells figures.
func (s Storage) light(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return each(s.Store.Records(ctx, run, from), func(rec *runlog.Record) error {
		if len(rec.Data) > 0 || rec.Kind != runlog.Called {
			return nil
		}
		return s.fill(ctx, rec) // an older version wrote it
	})
}

// end sets in v the figures of a run that has ended.
func (s Storage) end(ctx context.Context, v *engine.View) error {
	for rec, err := range s.Store.Records(ctx, v.Run, v.Next-1) {
		var d engine.EndedData
		if err == nil {
			err = Decode(&rec, &d)
		}
		if err != nil || d.ByAgent != nil {
			v.SetEnd(&d.End)
			return err
		}
		return v.ReadLog(s.light(ctx, v.Run, 0))
	}
	return s.NoRun(v.Run) // it was deleted meanwhile
}

// vacant returns what is ErrConflict if kind is Started and the run has begun.
func (s Storage) vacant(run, kind string) func(context.Context, bool) error {
	return func(ctx context.Context, _ bool) error {
		if kind == runlog.Started {
			for _, err := range s.Store.Records(ctx, run, 0) {
				return cmp.Or(err, runlog.ErrConflict)
			}
		}
		return nil
	}
}

// Listing is what a list shows of a run, or ErrNoRun.
func (s Storage) Listing(ctx context.Context, run string) (runlog.Listing, error) {
	for l, err := range s.List(ctx, runlog.Query{Run: run}) {
		return l, err
	}
	return runlog.Listing{}, s.NoRun(run)
}

// has reports whether rec is in the store: then all that were appended with it are.
func (s Storage) has(ctx context.Context, rec *runlog.Record) (bool, error) {
	for got, err := range s.Store.Records(ctx, rec.Run, rec.Seq) {
		if err != nil {
			return false, err
		}
		return got.Kind == rec.Kind && got.Branch == rec.Branch && got.N == rec.N && got.Name == rec.Name &&
			got.At.Equal(rec.At) && string(got.Data) == string(rec.Data) && got.Blob == rec.Blob, nil
	}
	return false, nil
}

// NoRun is the error of a run that is not in the store. A memory that has forgotten runs
// does not know which: then the error says how many it keeps.
func (s Storage) NoRun(run string) error {
	err := fmt.Errorf("%w: %q", engine.ErrNoRun, run)
	if m, ok := s.Store.(*memory); ok && m.forgot.Load() {
		err = fmt.Errorf("%w: it never began, or was forgotten: without a Config.Store the runs that ended and whose result nobody has fetched are kept up to %d and %d MB, and of others the last %d",
			err, newsRuns, newsBytes>>20, remembered)
	}
	return agent.ErrorOf(err)
}

// none stands in for the faces without which an engine can do. Its other methods are
// never called.
type none struct{ runlog.Blobs }

func (none) Beat(context.Context, string, time.Duration) error        { return nil }
func (none) Leave(context.Context, string) error                      { return nil }
func (none) Alive(context.Context, string) (bool, error)              { return false, nil }
func (none) Orphans(context.Context) iter.Seq2[runlog.Listing, error] { return empty }

func (none) Request(context.Context, string, []byte) ([]byte, error) {
	return nil, fmt.Errorf("the store is no runlog.Messenger: %w", errors.ErrUnsupported)
}

func (none) Serve(context.Context, string, func(context.Context, []byte) []byte) error { return nil }

func (none) Blob(_ context.Context, _, hash string) ([]byte, error) {
	return nil, fmt.Errorf("%w: blob %s, and the store keeps none", runlog.ErrDamaged, hash)
}

func (none) Delete(context.Context, ...string) error {
	return errors.New("the store cannot delete runs: it is no runlog.Deleter")
}

func empty[T any](func(T, error) bool) {}

// outages has what a store is asked tried again while it fails. Its time is one for all
// that is asked. It is safe for concurrent use.
type outages struct {
	length time.Duration   // how long the store may fail
	each   time.Duration   // limit of one attempt, which may take up to twice as long
	log    *slog.Logger    // told of outages
	life   context.Context //nolint:containedctx // ends each attempt
	open   context.Context //nolint:containedctx // ends trying again

	over func(after time.Duration, err error) error // makes the error of an outage that was too long

	failing atomic.Int64 // time since which the store fails, in Unix nanoseconds; 0: it does not

	mu    sync.Mutex
	limit context.Context //nolint:containedctx // context of an attempt; those of a few seconds share it, because one costs as much as they do
	renew time.Time       // time from which limit is replaced
}

// try calls f until it succeeds or meets a final error, with growing waits, until the
// outage is over. again says that what became of the call before is not known.
func (o *outages) try(again bool, f func(ctx context.Context, again bool) error) (err error) { //nolint:revive // what is known
	final := func(again bool) bool {
		o.mu.Lock()
		if t := time.Now(); t.After(o.renew) {
			o.renew = t.Add(o.each)
			var cancel context.CancelFunc
			o.limit, cancel = context.WithTimeout(o.life, 2*o.each)
			context.AfterFunc(o.limit, cancel)
		}
		limit := o.limit
		o.mu.Unlock()
		err = f(limit, again)
		works := err == nil || final.Is(err)
		if works {
			o.failing.Store(0)
		}
		return works
	}
	if final(again) || o.open.Err() != nil {
		return err
	}
	o.failing.CompareAndSwap(0, time.Now().UnixNano())
	since := time.Unix(0, o.failing.Load()) // requests at the end of an outage get one more attempt
	wait := untilEnd{backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0)), since.Add(o.length)}
	o.log.Warn("the store fails; trying again", "err", err, "for", time.Until(wait.end))
	if backoff.Retry(func() error {
		if final(true) {
			return nil
		}
		return err
	}, backoff.WithContext(wait, o.open)) == nil {
		return err
	}
	return o.over(time.Since(since).Round(time.Millisecond), err)
}

// untilEnd is how long to wait between attempts. The last one is at end.
type untilEnd struct {
	backoff.BackOff
	end time.Time
}

// NextBackOff implements backoff.BackOff.
func (u untilEnd) NextBackOff() time.Duration {
	left := time.Until(u.end)
	if left <= 0 {
		return backoff.Stop
	}
	return min(u.BackOff.NextBackOff(), left)
}
