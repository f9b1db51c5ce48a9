package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// appendFaults are faults of Append and what concurrent appends see.
var appendFaults = []fault{
	{"keeps the caller's Data", "Append/KeepsNothing", func(d *double) {
		kept := make(map[string]json.RawMessage)
		key := func(r runlog.Record) string { return fmt.Sprint(r.Run, r.Seq) }
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				kept[key(r)] = r.Data
			}
			return d.Memory.Append(ctx, recs)
		}
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return mapSeq(d.Memory.Records(ctx, run, from), func(r runlog.Record) runlog.Record {
				r.Data = kept[key(r)]
				return r
			})
		}
	}},
	{"yields its own Data", "Records/CallerOwnsData", sharesYielded},
	{"yields Data of a shared buffer", "Records/CallerOwnsData", func(d *double) {
		var buf []byte
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return mapSeq(d.Memory.Records(ctx, run, from), func(r runlog.Record) runlog.Record {
				buf = append(buf[:0], r.Data...)
				r.Data = buf
				return r
			})
		}
	}},
	{"refuses by an error of its own", "Append/Refused", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if err := d.Memory.Append(ctx, recs); err != nil {
				return errors.New("cannot be listed")
			}
			return nil
		}
	}},
	{"takes what cannot be listed", "Append/Refused", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for i := range recs {
				if new(runlog.Listing).Add(recs[i]) != nil {
					recs[i].Data = nil
				}
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"keeps some of what it refuses", "Append/Never", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if i := slices.IndexFunc(recs, func(r runlog.Record) bool { return len(r.Name) > 1000 }); i >= 0 {
				_ = d.Memory.Append(ctx, recs[:i])
				return runlog.ErrTooLarge
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"refuses what is too long by an error of its own", "Append/Never", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if slices.ContainsFunc(recs, func(r runlog.Record) bool { return len(r.Run) > 1000 }) {
				return errors.New("the key is too long")
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"shortens what is too long", "Append/Never", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			recs = slices.Clone(recs)
			for i := range recs {
				recs[i].Name = recs[i].Name[:min(len(recs[i].Name), 255)]
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"appends one by one", "Append/AllOrNone", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if err := d.Memory.Append(ctx, []runlog.Record{r}); err != nil {
					return err
				}
			}
			return ctx.Err()
		}
	}},
	{"overlooks taken numbers", "Append/ConflictTaken", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if err := d.Memory.Append(ctx, recs); err != nil && !errors.Is(err, runlog.ErrConflict) {
				return err
			}
			return nil
		}
	}},
	{"fills gaps", "Append/ConflictGap", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if length(ctx, d, r.Run) > r.Seq {
					return runlog.ErrConflict
				}
			}
			var filled []runlog.Record
			next := make(map[string]int64)
			for _, r := range recs {
				n, ok := next[r.Run]
				if !ok {
					n = length(ctx, d, r.Run)
				}
				r.Seq, next[r.Run] = n, n+1
				filled = append(filled, r)
			}
			return d.Memory.Append(ctx, filled)
		}
	}},
	{"sorts what it appends", "Append/ConflictOrder", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			recs = slices.Clone(recs)
			slices.SortStableFunc(recs, func(a, b runlog.Record) int { return int(a.Seq - b.Seq) })
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"has an error of its own", "Append/ConflictTaken", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			err := d.Memory.Append(ctx, recs)
			if errors.Is(err, runlog.ErrConflict) {
				err = errors.New(err.Error())
			}
			return err
		}
	}},
	{"checks, then appends", "Concurrency/OneWins", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			err := d.Memory.Append(ctx, recs)
			if errors.Is(err, runlog.ErrConflict) && strings.Contains(err.Error(), `run "r"`) {
				return nil // the later one seems to have overwritten the first
			}
			return err
		}
	}},
	{"remembers the log of a run that was deleted", "Concurrency/OtherIsFenced", func(d *double) {
		next := map[string]int64{}
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if recs[0].Seq != next[recs[0].Run] {
				return runlog.ErrConflict
			}
			next[recs[0].Run]++
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"fails all for the conflict of one", "Concurrency/ConflictIsAlone", func(d *double) {
		var mu sync.Mutex
		failed := false
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			if failed {
				return runlog.ErrConflict
			}
			err := d.Memory.Append(ctx, recs)
			failed = err != nil
			return err
		}
	}},
	{"microseconds", "Append/Times", mapAppend(func(r *runlog.Record) { r.At = r.At.Truncate(time.Microsecond) })},
	{"local time", "Append/AllFields", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return mapSeq(d.Memory.Records(ctx, run, from), func(r runlog.Record) runlog.Record {
				r.At = r.At.In(time.FixedZone("home", 3600))
				return r
			})
		}
	}},
	{"loses the hash", "Append/AllFields", mapAppend(func(r *runlog.Record) { r.Hash = "" })},
	{"loses the branch", "Append/SeveralRuns", mapAppend(func(r *runlog.Record) { r.Branch = "" })},
	{"needs a name", "Append/FewFields", mapAppend(func(r *runlog.Record) {
		if r.Name == "" {
			r.Name = "none"
		}
	})},
	{"escapes HTML", "Append/DataExact", mapAppend(func(r *runlog.Record) {
		var escaped bytes.Buffer
		json.HTMLEscape(&escaped, r.Data)
		r.Data = escaped.Bytes()
	})},
	{"empty Data is not nil", "Append/EmptyDataIsNil", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return mapSeq(d.Memory.Records(ctx, run, from), func(r runlog.Record) runlog.Record {
				r.Data = append(json.RawMessage{}, r.Data...)
				return r
			})
		}
	}},
	{"cuts Data at 64 KiB", "Append/BigData", mapAppend(func(r *runlog.Record) { r.Data = r.Data[:min(len(r.Data), 1<<16)] })},
	{"run IDs in lower case", "Append/OddRunIDs", mapAppend(func(r *runlog.Record) { r.Run = strings.ToLower(r.Run) })},
	{"ignores contexts in Append", "Append/CanceledContext", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			return d.Memory.Append(context.WithoutCancel(ctx), recs)
		}
	}},
	{"ignores contexts in Records", "Records/CanceledContext", func(d *double) {
		d.records = func(ctx context.Context, run string, from int64) recordSeq {
			return d.Memory.Records(context.WithoutCancel(ctx), run, from)
		}
	}},
	{"appending nothing is an error", "Append/Nothing", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if len(recs) == 0 {
				return errors.New("nothing to append")
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"one run only", "Concurrency/DifferentRuns", func(d *double) {
		var mu sync.Mutex
		one := ""
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			if one == "" {
				one = recs[0].Run
			}
			if one != recs[0].Run {
				return runlog.ErrConflict
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
}

// sharesYielded yields the same Data again and again.
func sharesYielded(d *double) {
	var mu sync.Mutex
	shared := make(map[string]json.RawMessage)
	d.records = func(ctx context.Context, run string, from int64) recordSeq {
		return mapSeq(d.Memory.Records(ctx, run, from), func(r runlog.Record) runlog.Record {
			mu.Lock()
			defer mu.Unlock()
			key := fmt.Sprint(r.Run, r.Seq)
			if shared[key] == nil {
				shared[key] = r.Data
			}
			r.Data = shared[key]
			return r
		})
	}
}
