package storetest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// listFaults are faults of List, and of what an ended run takes.
var listFaults = []fault{
	{"an ended run grows", "Append/AfterEnded", endless},
	{"an ended run grows in one batch", "Append/EndedTogether", endless},
	{"takes data that no list can show", "List/Started", mapAppend(func(r *runlog.Record) {
		var l runlog.Listing
		if l.Add(*r) != nil {
			r.Data = nil
		}
	})},
	{"the first owner stays", "List/Resumed", mapAppend(func(r *runlog.Record) {
		if r.Kind == runlog.Resumed {
			r.Kind = runlog.Called
		}
	})},
	{"stuck runs look open", "List/Stuck", mapListing(func(l *runlog.Listing) { l.Err = "" })},
	{"an end has no status", "List/Ended", mapListing(func(l *runlog.Listing) { l.Status = "" })},
	{"Changed never goes back", "List/ChangedAndNext", mapListing(func(l *runlog.Listing) {
		if l.Changed.Before(l.Started) {
			l.Changed = l.Started
		}
	})},
	{"runs begin with Started", "List/OtherFirstRecord", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return filtered(d.Memory.List(ctx, q), func(l runlog.Listing) bool { return l.Flow != "" })
		}
	}},
	{"ignores Open", "List/OpenAndAll", mapQuery(func(q *runlog.Query) { q.Open = false })},
	{"oldest first", "List/NewestFirst", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq { return reversed(d.Memory.List(ctx, q)) }
	}},
	{"one page of runs", "List/Many", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq { return limited(d.Memory.List(ctx, q), 512) }
	}},
	{"ignores Flow", "List/Fields", mapQuery(func(q *runlog.Query) { q.Flow = "" })},
	{"ignores Status", "List/Fields", mapQuery(func(q *runlog.Query) { q.Status = "" })},
	{"ignores Owner", "List/Fields", mapQuery(func(q *runlog.Query) { q.Owner = "" })},
	{"ignores Parent", "List/Fields", mapQuery(func(q *runlog.Query) { q.Parent = "" })},
	{"a label's name is enough", "List/Label", mapQuery(func(q *runlog.Query) { q.Label, _, _ = strings.Cut(q.Label, "=") })},
	{"a label's value has no =", "List/Label", mapQuery(func(q *runlog.Query) {
		if i := strings.LastIndex(q.Label, "="); i > 0 {
			q.Label = q.Label[:i]
		}
	})},
	{"Text has case", "List/Text", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return filtered(d.Memory.List(ctx, q), func(l runlog.Listing) bool {
				return strings.Contains(l.Run+l.Flow+l.Err+strings.Join(slices.Collect(maps.Values(l.Labels)), ""), q.Text)
			})
		}
	}},
	{"Text is a pattern", "List/Text", mapQuery(func(q *runlog.Query) { q.Text = strings.ReplaceAll(q.Text, "%", "") })},
	{"Before goes by the start", "List/Before", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			before := q.Before
			q.Before = time.Time{}
			return filtered(d.Memory.List(ctx, q), func(l runlog.Listing) bool { return l.Started.Before(before) })
		}
	}},
	{"one field at a time", "List/Together", mapQuery(func(q *runlog.Query) {
		if q.Text != "" {
			q.Status = ""
		}
	})},
	{"ignores Limit", "List/Limit", mapQuery(func(q *runlog.Query) { q.Limit = 0 })},
	{"the limit is that of a page", "List/Limit", mapQuery(func(q *runlog.Query) { q.Limit = min(q.Limit, 3) })},
	{"the cursor yields its run", "List/After", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			after := q.After
			if q.After == "f" {
				q.After = ""
			}
			return filtered(d.Memory.List(ctx, q), func(l runlog.Listing) bool { return l.Run <= after || after == "" })
		}
	}},
	{"the cursor skips runs of the same time", "List/After", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			var at time.Time
			for l, err := range d.Memory.List(ctx, runlog.Query{}) {
				if err == nil && l.Run == q.After {
					at = l.Started
				}
			}
			return filtered(d.Memory.List(ctx, q), func(l runlog.Listing) bool { return at.IsZero() || l.Started.Before(at) })
		}
	}},
	{"an unknown cursor starts anew", "List/AfterUnknown", mapQuery(func(q *runlog.Query) { q.After = "" })},
	{"List yields its own Labels", "List/CallerOwnsLabels", func(d *double) {
		labels := make(map[string]map[string]string)
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return mapSeq(d.Memory.List(ctx, q), func(l runlog.Listing) runlog.Listing {
				if labels[l.Run] == nil {
					labels[l.Run] = l.Labels
				}
				l.Labels = labels[l.Run]
				return l
			})
		}
	}},
	{"List keeps a lock after a break", "List/EarlyBreak", func(d *double) {
		var mu sync.RWMutex
		d.append = lockedAppend(d, &mu)
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return func(yield func(runlog.Listing, error) bool) {
				mu.RLock()
				for l, err := range d.Memory.List(ctx, q) {
					if !yield(l, err) {
						return // the lock is kept
					}
				}
				mu.RUnlock()
			}
		}
	}},
	{"List holds a lock, as a host's store did", "List/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = lockedAppend(d, &mu)
		d.list = func(ctx context.Context, q runlog.Query) listSeq { return locked(&mu, d.Memory.List(ctx, q)) }
	}},
	{"ignores contexts in List", "List/CanceledContext", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return d.Memory.List(context.WithoutCancel(ctx), q)
		}
	}},
	{"yields a run that is not there", "List/None", func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			return func(yield func(runlog.Listing, error) bool) {
				if yield(runlog.Listing{}, nil) {
					d.Memory.List(ctx, q)(yield)
				}
			}
		}
	}},
	{"List lags behind", "Concurrency/ReadWhileAppending", mapListing(func(l *runlog.Listing) { l.Next = 1 })},
}

// endless stores what follows an Ended record.
func endless(d *double) {
	d.append = func(ctx context.Context, recs []runlog.Record) error {
		recs = slices.Clone(recs)
		for i := range recs {
			if recs[i].Kind == runlog.Ended {
				recs[i].Kind = runlog.Called
			}
		}
		return d.Memory.Append(ctx, recs)
	}
}

// mapListing changes what List and Orphans yield.
func mapListing(change func(*runlog.Listing)) func(*double) {
	return func(d *double) {
		changed := func(seq listSeq) listSeq {
			return mapSeq(seq, func(l runlog.Listing) runlog.Listing {
				change(&l)
				return l
			})
		}
		d.list = func(ctx context.Context, q runlog.Query) listSeq { return changed(d.Memory.List(ctx, q)) }
		d.orphans = func(ctx context.Context) listSeq { return changed(d.Memory.Orphans(ctx)) }
	}
}

// mapQuery changes what List is asked for.
func mapQuery(change func(*runlog.Query)) func(*double) {
	return func(d *double) {
		d.list = func(ctx context.Context, q runlog.Query) listSeq {
			change(&q)
			return d.Memory.List(ctx, q)
		}
	}
}

// lockedAppend appends under a lock.
func lockedAppend(d *double, mu sync.Locker) func(context.Context, []runlog.Record) error {
	return func(ctx context.Context, recs []runlog.Record) error {
		mu.Lock()
		defer mu.Unlock()
		return d.Memory.Append(ctx, recs)
	}
}

// reversed yields the values of seq from the end.
func reversed(seq listSeq) listSeq {
	return func(yield func(runlog.Listing, error) bool) {
		var ls []runlog.Listing
		for l, err := range seq {
			if err != nil {
				yield(l, err)
				return
			}
			ls = append(ls, l)
		}
		for _, l := range slices.Backward(ls) {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// filtered yields the values for which keep is true, and errors.
func filtered(seq listSeq, keep func(runlog.Listing) bool) listSeq {
	return func(yield func(runlog.Listing, error) bool) {
		for l, err := range seq {
			if (err != nil || keep(l)) && !yield(l, err) {
				return
			}
		}
	}
}
