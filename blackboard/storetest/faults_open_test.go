package storetest

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// openFaults are faults of the index of open questions.
var openFaults = []fault{
	{"an index by a kind less", "OpenAsks/Kinds", openFrom(func(r *runlog.Record) bool { return r.Kind != runlog.Withdrawn })},
	{"an answer that is rejected closes for good", "OpenAsks/Kinds", openFrom(func(r *runlog.Record) bool {
		return !strings.Contains(string(r.Data), "rejected")
	})},
	{"a later answer of a batch is missed", "OpenAsks/Batch", openFrom(func(r *runlog.Record) bool { return r.Kind != runlog.Answered })},
	{"a question that has expired is not asked again", "OpenAsks/Random", openFrom(func(r *runlog.Record) bool { return r.Seq%5 > 0 })},
	{"a question of an ended run stays", "OpenAsks/Ended", openFrom(func(r *runlog.Record) bool { return r.Kind != runlog.Ended })},
	{"an answer outlives its deleted run", "OpenAsks/Deleted", func(d *double) {
		answered := map[string]bool{}
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				answered[r.Run+r.Name] = answered[r.Run+r.Name] || r.Kind == runlog.Answered
			}
			return d.Memory.Append(ctx, recs)
		}
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return filter(d.Memory.OpenAsks(ctx, q), func(a runlog.OpenAsk) bool { return !answered[a.Run+a.Name] })
		}
	}},
	{"ignores Run", "OpenAsks/Fields", mapAsk(func(q *runlog.AskQuery) { q.Run = "" })},
	{"ignores Flow", "OpenAsks/Fields", mapAsk(func(q *runlog.AskQuery) { q.Flow = "" })},
	{"questions without labels", "OpenAsks/Fields", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return mapSeq(d.Memory.OpenAsks(ctx, q), func(a runlog.OpenAsk) runlog.OpenAsk {
				a.Labels = nil
				return a
			})
		}
	}},
	{"a label's name is enough", "OpenAsks/Label", mapAsk(func(q *runlog.AskQuery) { q.Label, _, _ = strings.Cut(q.Label, "=") })},
	{"Text has case", "OpenAsks/Text", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return filter(d.Memory.OpenAsks(ctx, q), func(a runlog.OpenAsk) bool {
				return strings.Contains(a.Name+string(a.Data), q.Text)
			})
		}
	}},
	{"Text is looked up in all of the data", "OpenAsks/Text", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			text := q.Text
			q.Text = ""
			return filter(d.Memory.OpenAsks(ctx, q), func(a runlog.OpenAsk) bool {
				return strings.Contains(runlog.LowerASCII(a.Name+"\n"+string(a.Data)), runlog.LowerASCII(text))
			})
		}
	}},
	{"Before has the time itself", "OpenAsks/Before", mapAsk(func(q *runlog.AskQuery) {
		if !q.Before.IsZero() {
			q.Before = q.Before.Add(1)
		}
	})},
	{"one field at a time", "OpenAsks/Together", mapAsk(func(q *runlog.AskQuery) {
		if q.Text != "" {
			q.Label = ""
		}
	})},
	{"the order of runs", "OpenAsks/Order", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq { return perRun(ctx, d, q) }
	}},
	{"the limit is that of a page", "OpenAsks/Limit", mapAsk(func(q *runlog.AskQuery) { q.Limit = min(q.Limit, 3) })},
	{"the cursor skips equals", "OpenAsks/After", mapAsk(func(q *runlog.AskQuery) {
		if q.After.Run != "" {
			q.After.Run, q.After.Seq = "~", 0
		}
	})},
	{"the cursor yields its question", "OpenAsks/After", mapAsk(func(q *runlog.AskQuery) { q.After.Seq-- })},
	{"labels of the first start", "OpenAsks/LabelsOfALaterStart", mapAsk(func(q *runlog.AskQuery) {
		if q.Label == "team=blue" {
			q.Label = "team=red"
		}
	})},
	{"one page of questions", "OpenQuestions/Many", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq { return limited(d.Memory.OpenAsks(ctx, q), 512) }
	}},
	{"OpenAsks holds a lock", "OpenQuestions/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = lockedAppend(d, &mu)
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq { return locked(&mu, d.Memory.OpenAsks(ctx, q)) }
	}},
	{"OpenAsks yields its own labels", "OpenQuestions/CallerOwnsLabels", func(d *double) {
		var labels map[string]string
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return mapSeq(d.Memory.OpenAsks(ctx, q), func(a runlog.OpenAsk) runlog.OpenAsk {
				if labels == nil {
					labels = a.Labels
				}
				a.Labels = labels
				return a
			})
		}
	}},
	{"ignores contexts in OpenAsks", "OpenQuestions/CanceledContext", func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return d.Memory.OpenAsks(context.WithoutCancel(ctx), q)
		}
	}},
}

// openFrom has an index of only the records for which sees is true.
func openFrom(sees func(r *runlog.Record) bool) func(*double) {
	return func(d *double) {
		index := runlog.NewMemory()
		next := map[string]int64{}
		place := map[string]runlog.Record{}
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			if err := d.Memory.Append(ctx, recs); err != nil {
				return err
			}
			for _, r := range recs {
				if !sees(&r) {
					continue
				}
				seen := r
				seen.Seq = next[r.Run]
				next[r.Run]++
				place[r.Run+" "+r.At.Format(time.RFC3339Nano)+" "+r.Name] = r
				if err := index.Append(ctx, []runlog.Record{seen}); err != nil {
					return err
				}
			}
			return nil
		}
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			return mapSeq(index.OpenAsks(ctx, q), func(a runlog.OpenAsk) runlog.OpenAsk {
				a.Record = place[a.Run+" "+a.At.Format(time.RFC3339Nano)+" "+a.Name]
				return a
			})
		}
	}
}

// mapAsk changes what OpenAsks is asked for.
func mapAsk(change func(*runlog.AskQuery)) func(*double) {
	return func(d *double) {
		d.open = func(ctx context.Context, q runlog.AskQuery) openSeq {
			change(&q)
			return d.Memory.OpenAsks(ctx, q)
		}
	}
}

// perRun yields the questions of one run after the other.
func perRun(ctx context.Context, d *double, q runlog.AskQuery) openSeq {
	return func(yield func(runlog.OpenAsk, error) bool) {
		for l, err := range d.Memory.List(ctx, openRuns) {
			if err != nil {
				yield(runlog.OpenAsk{}, err)
				return
			}
			q.Run = l.Run
			for a, err := range d.Memory.OpenAsks(ctx, q) {
				if !yield(a, err) {
					return
				}
			}
		}
	}
}

// filter yields the questions for which keep is true, and errors.
func filter(seq openSeq, keep func(runlog.OpenAsk) bool) openSeq {
	return func(yield func(runlog.OpenAsk, error) bool) {
		for a, err := range seq {
			if (err != nil || keep(a)) && !yield(a, err) {
				return
			}
		}
	}
}
