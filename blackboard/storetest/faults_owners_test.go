package storetest

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// ownersFaults are faults of Owners and of a Notifier.
var ownersFaults = []fault{
	{"every engine is alive", "Owners/Beat", func(d *double) {
		d.alive = func(ctx context.Context, _ string) (bool, error) { return true, ctx.Err() }
	}},
	{"an engine cannot leave", "Owners/Leave", func(d *double) {
		d.leave = func(ctx context.Context, _ string) error { return ctx.Err() }
	}},
	{"an engine that left cannot come back", "Owners/Leave", func(d *double) {
		gone := make(map[string]bool)
		d.leave = func(ctx context.Context, owner string) error {
			gone[owner] = true
			return d.Memory.Leave(ctx, owner)
		}
		d.alive = func(ctx context.Context, owner string) (bool, error) {
			alive, err := d.Memory.Alive(ctx, owner)
			return alive && !gone[owner], err
		}
	}},
	{"a silent engine lives for ever", "Owners/SilentIsDead", func(d *double) {
		d.beat = func(ctx context.Context, owner string, _ time.Duration) error {
			return d.Memory.Beat(ctx, owner, time.Hour)
		}
	}},
	{"an engine dies too early", "Owners/SilentIsDead", func(d *double) {
		d.beat = func(ctx context.Context, owner string, dur time.Duration) error {
			return d.Memory.Beat(ctx, owner, max(dur/10, 1))
		}
	}},
	{"a second beat does nothing", "Owners/BeatsProlong", func(d *double) {
		seen := make(map[string]bool)
		d.beat = func(ctx context.Context, owner string, dur time.Duration) error {
			if seen[owner] {
				return ctx.Err()
			}
			seen[owner] = true
			return d.Memory.Beat(ctx, owner, dur)
		}
		d.alive = func(ctx context.Context, owner string) (bool, error) {
			alive, err := d.Memory.Alive(ctx, owner)
			return alive, err
		}
	}},
	{"a dead engine stays dead", "Owners/BeatAgain", func(d *double) {
		dead := make(map[string]bool)
		d.alive = func(ctx context.Context, owner string) (bool, error) {
			alive, err := d.Memory.Alive(ctx, owner)
			dead[owner] = dead[owner] || !alive
			return !dead[owner], err
		}
	}},
	{"an engine without a name", "Owners/Refused", func(d *double) {
		d.beat = func(ctx context.Context, owner string, dur time.Duration) error {
			return d.Memory.Beat(ctx, owner+"x", max(dur, 1))
		}
	}},
	{"orphans are all open runs", "Owners/Orphans", func(d *double) {
		d.orphans = func(ctx context.Context) listSeq {
			return reversed(d.Memory.List(ctx, runlog.Query{Open: true}))
		}
	}},
	{"orphans newest first", "Owners/Orphans", func(d *double) {
		d.orphans = func(ctx context.Context) listSeq { return reversed(d.Memory.Orphans(ctx)) }
	}},
	{"orphans without a flow", "Owners/Orphans", mapListing(func(l *runlog.Listing) { l.Flow = "" })},
	{"one page of orphans", "Owners/ManyOrphans", func(d *double) {
		d.orphans = func(ctx context.Context) listSeq { return limited(d.Memory.Orphans(ctx), 512) }
	}},
	{"Orphans hold a lock", "Owners/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return func(yield func(runlog.Listing, error) bool) {
				mu.Lock()
				mu.Unlock() //nolint:staticcheck // it waits, no more
				d.Memory.List(ctx, q)(yield)
			}
		}
		d.orphans = func(ctx context.Context) listSeq { return locked(&mu, d.Memory.Orphans(ctx)) }
	}},
	{"ignores contexts in Beat", "Owners/CanceledContext", func(d *double) {
		d.beat = func(ctx context.Context, owner string, dur time.Duration) error {
			return d.Memory.Beat(context.WithoutCancel(ctx), owner, dur)
		}
	}},
	{"ignores contexts in Leave", "Owners/CanceledContext", func(d *double) {
		d.leave = func(ctx context.Context, owner string) error {
			return d.Memory.Leave(context.WithoutCancel(ctx), owner)
		}
	}},
	{"ignores contexts in Alive", "Owners/CanceledContext", func(d *double) {
		d.alive = func(ctx context.Context, owner string) (bool, error) {
			return d.Memory.Alive(context.WithoutCancel(ctx), owner)
		}
	}},
	{"ignores contexts in Orphans", "Owners/CanceledContext", func(d *double) {
		d.orphans = func(ctx context.Context) listSeq { return d.Memory.Orphans(context.WithoutCancel(ctx)) }
	}},
	{"tells of letters only", "Notifier/Append", tells(runlog.Answered)},
	{"tells of the wrong run", "Notifier/Append", func(d *double) {
		d.changes = func(ctx context.Context) iter.Seq2[string, error] {
			return mapSeq(d.Memory.Changes(ctx), func(string) string { return "a" })
		}
	}},
	{"tells of records only", "Notifier/Put", tells(runlog.Called)},
	{"a loop that was left holds up Append", "Notifier/Break", func(d *double) {
		var mu sync.RWMutex
		d.append = lockedAppend(d, &mu)
		d.changes = func(ctx context.Context) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for run, err := range d.Memory.Changes(ctx) {
					if !yield(run, err) {
						mu.RLock()
						return
					}
				}
			}
		}
	}},
	{"ignores contexts in Changes", "Notifier/CanceledContext", func(d *double) {
		d.changes = func(context.Context) iter.Seq2[string, error] { return func(func(string, error) bool) {} }
	}},
}

// tells reports only changes of one kind: Answered for letters.
func tells(kind string) func(*double) {
	return func(d *double) {
		told := runlog.NewMemory()
		d.changes = told.Changes
		n := int64(0)
		tell := func(ctx context.Context, run, of string) error {
			if of != kind {
				return nil
			}
			n++
			return told.Append(ctx, []runlog.Record{{Run: run, Seq: n - 1, Kind: kind}})
		}
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if err := d.Memory.Put(ctx, l); err != nil {
				return err
			}
			return tell(ctx, l.Run, runlog.Answered)
		}
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if err := d.Memory.Append(ctx, recs); err != nil || recs[0].Run != "r" {
				return err
			}
			return tell(ctx, recs[0].Run, recs[0].Kind)
		}
	}
}
