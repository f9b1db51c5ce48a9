package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// inboxFaults are faults of an Inbox.
var inboxFaults = []fault{
	{"later letters are dropped silently", "Inbox/OncePerAddress", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if err := d.Memory.Put(ctx, l); !errors.Is(err, runlog.ErrConflict) {
				return err
			}
			return nil
		}
	}},
	{"letters of all runs are of none", "Inbox/Letters", func(d *double) {
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			if run == "" {
				run = "\x00"
			}
			return d.Memory.Letters(ctx, run)
		}
	}},
	{"letters come in any order", "Inbox/Letters", func(d *double) {
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			return backwards(d.Memory.Letters(ctx, run))
		}
	}},
	{"rounds are ordered as text", "Inbox/Rounds", func(d *double) {
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			return sorted(d.Memory.Letters(ctx, run), func(a, b runlog.Letter) int {
				return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(strconv.Itoa(a.Round), strconv.Itoa(b.Round)))
			})
		}
	}},
	{"there are no rounds", "Inbox/Rounds", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			l.Round = 0
			return d.Memory.Put(ctx, l)
		}
	}},
	{"keys ignore case", "Inbox/OncePerAddress", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			l.Key = strings.ToLower(l.Key)
			return d.Memory.Put(ctx, l)
		}
	}},
	{"taken letters are yielded", "Inbox/Take", func(d *double) {
		d.take = func(context.Context, string, string, int) error { return nil }
	}},
	{"Take takes all letters of the run", "Inbox/Take", func(d *double) {
		d.take = func(ctx context.Context, run, _ string, _ int) error {
			return takeAll(ctx, d, run, func(runlog.Letter) bool { return true })
		}
	}},
	{"Take takes all rounds of the key", "Inbox/Rounds", func(d *double) {
		d.take = func(ctx context.Context, run, key string, _ int) error {
			return takeAll(ctx, d, run, func(l runlog.Letter) bool { return l.Key == key })
		}
	}},
	{"a taken letter's address is free", "Inbox/TakenStaysUsed", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			err := d.Memory.Put(ctx, l)
			if !errors.Is(err, runlog.ErrConflict) {
				return err
			}
			for got, failed := range d.Memory.Letters(ctx, l.Run) {
				if failed == nil && got.Key == l.Key && got.Round == l.Round {
					return err
				}
			}
			return nil
		}
	}},
	{"Take of an unknown letter is an error", "Inbox/TakeUnknown", func(d *double) {
		d.take = func(ctx context.Context, run, key string, round int) error {
			if _, err := d.Memory.Last(ctx, run); err != nil {
				return err
			}
			return d.Memory.Take(ctx, run, key, round)
		}
	}},
	{"records remove letters", "Inbox/RecordsDoNothing", func(d *double) {
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if runlog.AskKind(r.Kind) {
					_ = d.Memory.Take(ctx, r.Run, r.Name, 0)
				}
			}
			return d.Memory.Append(ctx, recs)
		}
	}},
	{"an ended run gets no letters", "Inbox/RecordsDoNothing", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if last, err := d.Memory.Last(ctx, l.Run); err == nil && last.Kind == runlog.Ended {
				return runlog.ErrConflict
			}
			return d.Memory.Put(ctx, l)
		}
	}},
	{"takes letters for unknown runs", "Inbox/NoRun", mapPutError(runlog.ErrNoRun)},
	{"ignores contexts in Take", "Inbox/CanceledContext", func(d *double) {
		d.take = func(ctx context.Context, run, key string, round int) error {
			return d.Memory.Take(context.WithoutCancel(ctx), run, key, round)
		}
	}},
	{"letters forget that they expired", "Inbox/Expired", func(d *double) {
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			return mapSeq(d.Memory.Letters(ctx, run), func(l runlog.Letter) runlog.Letter {
				l.Expired = false
				return l
			})
		}
	}},
	{"letters keep the caller's Data", "Inbox/CallerOwnsData", func(d *double) {
		kept := make(map[string]json.RawMessage)
		d.put = func(ctx context.Context, l runlog.Letter) error {
			kept[l.Key] = l.Data
			return d.Memory.Put(ctx, l)
		}
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			return mapSeq(d.Memory.Letters(ctx, run), func(l runlog.Letter) runlog.Letter {
				l.Data = kept[l.Key]
				return l
			})
		}
	}},
	{"letters lose spaces and HTML", "Inbox/DataExact", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			var escaped bytes.Buffer
			json.HTMLEscape(&escaped, l.Data)
			l.Data = escaped.Bytes()
			return d.Memory.Put(ctx, l)
		}
	}},
	{"Letters hold a lock", "Inbox/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.letters = func(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
			return locked(&mu, d.Memory.Letters(ctx, run))
		}
	}},
	{"ignores contexts in Put", "Inbox/CanceledContext", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			return d.Memory.Put(context.WithoutCancel(ctx), l)
		}
	}},
	{"the last letter of a race is dropped silently", "Inbox/OneWins", func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if err := d.Memory.Put(ctx, l); !errors.Is(err, runlog.ErrConflict) {
				return err
			}
			return nil
		}
	}},
}

// asksFaults are faults of Asks.
var asksFaults = []fault{
	{"Asks yield all kinds", "Questions/Kinds", func(d *double) {
		d.asks = func(ctx context.Context, run, _ string) recordSeq { return d.Memory.Records(ctx, run, 0) }
	}},
	{"Asks yield each question once", "Questions/Kinds", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq { return limited(d.Memory.Asks(ctx, run, key), 5) }
	}},
	{"Asks ignore the key", "Questions/Key", func(d *double) {
		d.asks = func(ctx context.Context, run, _ string) recordSeq { return d.Memory.Asks(ctx, run, "") }
	}},
	{"one page of Asks", "Questions/Many", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq {
			return limited(d.Memory.Asks(ctx, run, key), 512)
		}
	}},
	{"Asks of an unknown run are an error", "Questions/None", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq {
			return func(yield func(runlog.Record, error) bool) {
				if _, err := d.Memory.Last(ctx, run); err != nil {
					yield(runlog.Record{}, err)
					return
				}
				d.Memory.Asks(ctx, run, key)(yield)
			}
		}
	}},
	{"Asks hold a lock", "Questions/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = lockedAppend(d, &mu)
		d.asks = func(ctx context.Context, run, key string) recordSeq { return locked(&mu, d.Memory.Asks(ctx, run, key)) }
	}},
	{"ignores contexts in Asks", "Questions/CanceledContext", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq {
			return d.Memory.Asks(context.WithoutCancel(ctx), run, key)
		}
	}},
}

// mapPutError takes letters that are refused with that error.
func mapPutError(refusal error) func(*double) {
	return func(d *double) {
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if err := d.Memory.Put(ctx, l); !errors.Is(err, refusal) {
				return err
			}
			return nil
		}
	}
}

// takeAll takes the letters of a run for which which is true.
func takeAll(ctx context.Context, d *double, run string, which func(runlog.Letter) bool) error {
	for l, err := range d.Memory.Letters(ctx, run) {
		if err != nil {
			return err
		}
		if which(l) {
			if err := d.Memory.Take(ctx, l.Run, l.Key, l.Round); err != nil {
				return err
			}
		}
	}
	return nil
}

// sorted yields what a sequence without errors yields, in another order.
func sorted[T any](seq iter.Seq2[T, error], order func(a, b T) int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var all []T
		for v, err := range seq {
			if err != nil {
				yield(v, err)
				return
			}
			all = append(all, v)
		}
		slices.SortStableFunc(all, order)
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// backwards yields letters in the reverse order.
func backwards(seq iter.Seq2[runlog.Letter, error]) iter.Seq2[runlog.Letter, error] {
	return sorted(seq, func(a, b runlog.Letter) int { return cmp.Or(cmp.Compare(b.Run, a.Run), cmp.Compare(b.Key, a.Key)) })
}
