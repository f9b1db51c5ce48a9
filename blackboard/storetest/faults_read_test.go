package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// readFaults are faults of Records and Last.
var readFaults = []fault{
	{"ignores from", "Records/From", func(d *double) {
		d.records = func(ctx context.Context, run string, _ int64) recordSeq { return d.Memory.Records(ctx, run, 0) }
	}},
	{"an unknown run is an error", "Records/UnknownRun", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return func(yield func(runlog.Record, error) bool) {
				n := 0
				for r, err := range d.Memory.Records(ctx, run, from) {
					n++
					if !yield(r, err) {
						return
					}
				}
				if n == 0 && from == 0 {
					yield(runlog.Record{}, errors.New("unknown run"))
				}
			}
		}
	}},
	{"one page of records", "Records/Many", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return limited(d.Memory.Records(ctx, run, from), 1024)
		}
	}},
	{"a sequence is used up", "Records/Again", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			recs := d.Memory.Records(ctx, run, from)
			used := false
			return func(yield func(runlog.Record, error) bool) {
				if !used {
					recs(yield)
				}
				used = true
			}
		}
	}},
	{"Records hold a lock", "Records/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return locked(&mu, d.Memory.Records(ctx, run, from))
		}
	}},
	{"Records keep a read lock after a break", "Records/EarlyBreak", func(d *double) {
		var mu sync.RWMutex
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return func(yield func(runlog.Record, error) bool) {
				mu.RLock()
				for r, err := range d.Memory.Records(ctx, run, from) {
					if !yield(r, err) {
						return // the lock is kept
					}
				}
				mu.RUnlock()
			}
		}
	}},
	{"Last is the first", "Last/Last", func(d *double) {
		d.last = func(ctx context.Context, run string) (runlog.Record, error) {
			for r, err := range d.Memory.Records(ctx, run, 0) {
				return r, err
			}
			return d.Memory.Last(ctx, run)
		}
	}},
	{"Last of an unknown run is empty", "Last/NoRun", func(d *double) {
		d.last = func(ctx context.Context, run string) (runlog.Record, error) {
			r, err := d.Memory.Last(ctx, run)
			if errors.Is(err, runlog.ErrNoRun) {
				err = nil
			}
			return r, err
		}
	}},
	{"Last returns its own Data", "Last/CallerOwnsData", func(d *double) {
		var own runlog.Record
		d.last = func(ctx context.Context, run string) (runlog.Record, error) {
			var err error
			if own.Run == "" {
				own, err = d.Memory.Last(ctx, run)
			}
			return own, err
		}
	}},
	{"ignores contexts in Last", "Last/CanceledContext", func(d *double) {
		d.last = func(ctx context.Context, run string) (runlog.Record, error) {
			return d.Memory.Last(context.WithoutCancel(ctx), run)
		}
	}},
}
