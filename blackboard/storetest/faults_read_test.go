package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/convene-go/convene/blackboard"
)

// readFaults are faults of Records and Runs.
var readFaults = []fault{
	{"ignores from", "Records/From", func(d *double) {
		d.records = func(ctx context.Context, run string, _ int64) recordSeq { return d.Memory.Records(ctx, run, 0) }
	}},
	{"an unknown run is an error", "Records/UnknownRun", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return func(yield func(blackboard.Record, error) bool) {
				n := 0
				for r, err := range d.Memory.Records(ctx, run, from) {
					n++
					if !yield(r, err) {
						return
					}
				}
				if n == 0 && from == 0 {
					yield(blackboard.Record{}, errors.New("unknown run"))
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
			return func(yield func(blackboard.Record, error) bool) {
				if !used {
					recs(yield)
				}
				used = true
			}
		}
	}},
	{"Records hold a lock", "Records/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
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
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return func(yield func(blackboard.Record, error) bool) {
				mu.RLock()
				for r, err := range d.Memory.Records(ctx, run, from) {
					if !yield(r, err) {
						return // without the unlock
					}
				}
				mu.RUnlock()
			}
		}
	}},
	{"Runs hold a lock, as a host's store did", "Runs/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.runs = func(ctx context.Context, open bool) runSeq { return locked(&mu, d.Memory.Runs(ctx, open)) }
	}},
	{"Runs keep a lock after a break", "Runs/EarlyBreak", func(d *double) {
		var mu sync.RWMutex
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.runs = func(ctx context.Context, open bool) runSeq {
			return func(yield func([2]blackboard.Record, error) bool) {
				mu.RLock()
				for r, err := range d.Memory.Runs(ctx, open) {
					if !yield(r, err) {
						return // without the unlock
					}
				}
				mu.RUnlock()
			}
		}
	}},
	{"open runs are all runs", "Runs/OpenAndAll", func(d *double) {
		d.runs = func(ctx context.Context, _ bool) runSeq { return d.Memory.Runs(ctx, false) }
	}},
	{"first record twice", "Runs/FirstAndLast", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq {
			return mapSeq(d.Memory.Runs(ctx, open), func(e [2]blackboard.Record) [2]blackboard.Record {
				return [2]blackboard.Record{e[0], e[0]}
			})
		}
	}},
	{"oldest first", "Runs/NewestFirst", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq {
			return func(yield func([2]blackboard.Record, error) bool) {
				var ends [][2]blackboard.Record
				for e, err := range d.Memory.Runs(ctx, open) {
					if err != nil {
						yield(e, err)
						return
					}
					ends = append(ends, e)
				}
				for _, e := range slices.Backward(ends) {
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}},
	{"one page of runs", "Runs/Many", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq { return limited(d.Memory.Runs(ctx, open), 512) }
	}},
	{"an ended run never opens again", "Runs/AfterEnded", func(d *double) {
		ended := make(map[string]bool)
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			for _, r := range recs {
				ended[r.Run] = ended[r.Run] || r.Kind == blackboard.Ended
			}
			return d.Memory.Append(ctx, recs)
		}
		d.runs = func(ctx context.Context, open bool) runSeq {
			return func(yield func([2]blackboard.Record, error) bool) {
				for e, err := range d.Memory.Runs(ctx, open) {
					if !ended[e[0].Run] && !yield(e, err) {
						return
					}
				}
			}
		}
	}},
	{"Runs yield one Data twice", "Runs/CallerOwnsData", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq {
			return mapSeq(d.Memory.Runs(ctx, open), func(e [2]blackboard.Record) [2]blackboard.Record {
				if e[0].Seq == e[1].Seq {
					e[1].Data = e[0].Data
				}
				return e
			})
		}
	}},
	{"ignores contexts in Runs", "Runs/CanceledContext", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq { return d.Memory.Runs(context.WithoutCancel(ctx), open) }
	}},
	{"yields a run that is not there", "Runs/None", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq {
			return func(yield func([2]blackboard.Record, error) bool) {
				if yield([2]blackboard.Record{}, nil) {
					d.Memory.Runs(ctx, open)(yield)
				}
			}
		}
	}},
	{"Runs lag behind", "Concurrency/ReadWhileAppending", func(d *double) {
		d.runs = func(ctx context.Context, open bool) runSeq {
			return mapSeq(d.Memory.Runs(ctx, open), func(e [2]blackboard.Record) [2]blackboard.Record {
				return [2]blackboard.Record{e[0], e[0]}
			})
		}
	}},
}
