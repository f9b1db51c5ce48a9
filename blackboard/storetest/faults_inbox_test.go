package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// inboxFaults are faults of an Inbox.
var inboxFaults = []fault{
	{"later letters are dropped silently", "Inbox/FirstWins", func(d *double) {
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
	{"letters stay when their answer is in the log", "Inbox/AfterAnswered", lettersStay(runlog.Answered)},
	{"letters stay when the run is canceled", "Inbox/AfterCanceled", lettersStay(runlog.Canceled)},
	{"a canceled run has no questions", "Inbox/OtherRecords", mapAppend(func(r *runlog.Record) {
		if r.Kind == runlog.Asked {
			r.Kind = runlog.Answered
		}
	})},
	{"letters stay when the question has expired", "Inbox/AfterExpired", lettersStay(runlog.Expired)},
	{"letters stay when the question is withdrawn", "Inbox/AfterExpired", lettersStay(runlog.Withdrawn)},
	{"what has expired once is closed for ever", "Inbox/AskedAgain", func(d *double) {
		closed := make(map[string]bool)
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if runlog.AskKind(r.Kind) && r.Kind != runlog.Asked {
					closed[r.Run+"/"+r.Name] = true
				}
			}
			return d.Memory.Append(ctx, recs)
		}
		d.put = func(ctx context.Context, l runlog.Letter) error {
			if closed[l.Run+"/"+l.Key] {
				return runlog.ErrConflict
			}
			return d.Memory.Put(ctx, l)
		}
	}},
	{"a question drops the answer that came before it", "Inbox/Early", mapAppend(func(r *runlog.Record) {
		if r.Kind == runlog.Asked {
			r.Data = json.RawMessage(`{"rejected":"no"}`)
		}
	})},
	{"a rejected letter stays", "Inbox/Rejected", mapAppend(func(r *runlog.Record) {
		if r.Kind == runlog.Asked {
			r.Data = nil
		}
	})},
	{"each question rejects its letter", "Inbox/Rejected", mapAppend(func(r *runlog.Record) {
		if r.Kind == runlog.Asked {
			r.Data = json.RawMessage(`{"rejected":"no"}`)
		}
	})},
	{"takes letters for unknown runs", "Inbox/NoRun", mapPutError(runlog.ErrNoRun)},
	{"takes letters for ended runs", "Inbox/AfterEnded", mapPutError(runlog.ErrEnded)},
	{"letters outlive the end", "Inbox/AfterEnded", lettersStay(runlog.Ended)},
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
	{"Asks yield all kinds", "Asks/Kinds", func(d *double) {
		d.asks = func(ctx context.Context, run, _ string) recordSeq { return d.Memory.Records(ctx, run, 0) }
	}},
	{"Asks yield each question once", "Asks/Kinds", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq { return limited(d.Memory.Asks(ctx, run, key), 5) }
	}},
	{"Asks ignore the key", "Asks/Key", func(d *double) {
		d.asks = func(ctx context.Context, run, _ string) recordSeq { return d.Memory.Asks(ctx, run, "") }
	}},
	{"one page of Asks", "Asks/Many", func(d *double) {
		d.asks = func(ctx context.Context, run, key string) recordSeq {
			return limited(d.Memory.Asks(ctx, run, key), 512)
		}
	}},
	{"Asks of an unknown run are an error", "Asks/None", func(d *double) {
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
	{"Asks hold a lock", "Asks/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = lockedAppend(d, &mu)
		d.asks = func(ctx context.Context, run, key string) recordSeq { return locked(&mu, d.Memory.Asks(ctx, run, key)) }
	}},
	{"ignores contexts in Asks", "Asks/CanceledContext", func(d *double) {
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

// lettersStay hides records of that kind from the inbox.
func lettersStay(kind string) func(*double) {
	return func(d *double) {
		inbox := runlog.NewMemory()
		d.put, d.letters = inbox.Put, inbox.Letters
		d.append = func(ctx context.Context, recs []runlog.Record) error {
			for _, r := range recs {
				if r.Kind == kind {
					r.Kind = runlog.Called
				}
				if err := inbox.Append(ctx, []runlog.Record{r}); err != nil {
					return err
				}
			}
			return d.Memory.Append(ctx, recs)
		}
	}
}
