package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"

	"github.com/convene-go/convene/blackboard"
)

// inboxFaults are faults of an Inbox.
var inboxFaults = []fault{
	{"later letters are dropped silently", "Inbox/FirstWins", func(d *double) {
		d.put = func(ctx context.Context, l blackboard.Letter) error {
			if err := d.Memory.Put(ctx, l); !errors.Is(err, blackboard.ErrConflict) {
				return err
			}
			return nil
		}
	}},
	{"letters of all runs are of none", "Inbox/Letters", func(d *double) {
		d.letters = func(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
			if run == "" {
				run = "\x00"
			}
			return d.Memory.Letters(ctx, run)
		}
	}},
	{"letters stay when their answer is in the log", "Inbox/AfterAnswered", lettersStay(blackboard.Answered)},
	{"letters stay when the run is canceled", "Inbox/AfterCanceled", lettersStay(blackboard.Canceled)},
	{"a canceled run has no questions", "Inbox/OtherRecords", mapAppend(func(r *blackboard.Record) {
		if r.Kind == blackboard.Asked {
			r.Kind = blackboard.Answered
		}
	})},
	{"letters keep the caller's Data", "Inbox/CallerOwnsData", func(d *double) {
		kept := make(map[string]json.RawMessage)
		d.put = func(ctx context.Context, l blackboard.Letter) error {
			kept[l.Key] = l.Data
			return d.Memory.Put(ctx, l)
		}
		d.letters = func(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
			return mapSeq(d.Memory.Letters(ctx, run), func(l blackboard.Letter) blackboard.Letter {
				l.Data = kept[l.Key]
				return l
			})
		}
	}},
	{"letters lose spaces and HTML", "Inbox/DataExact", func(d *double) {
		d.put = func(ctx context.Context, l blackboard.Letter) error {
			var escaped bytes.Buffer
			json.HTMLEscape(&escaped, l.Data)
			l.Data = escaped.Bytes()
			return d.Memory.Put(ctx, l)
		}
	}},
	{"Letters hold a lock", "Inbox/NoLockWhileYielding", func(d *double) {
		var mu sync.Mutex
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			mu.Lock()
			defer mu.Unlock()
			return d.Memory.Append(ctx, recs)
		}
		d.letters = func(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
			return locked(&mu, d.Memory.Letters(ctx, run))
		}
	}},
	{"ignores contexts in Put", "Inbox/CanceledContext", func(d *double) {
		d.put = func(ctx context.Context, l blackboard.Letter) error {
			return d.Memory.Put(context.WithoutCancel(ctx), l)
		}
	}},
	{"the last letter of a race is dropped silently", "Inbox/OneWins", func(d *double) {
		d.put = func(ctx context.Context, l blackboard.Letter) error {
			if err := d.Memory.Put(ctx, l); !errors.Is(err, blackboard.ErrConflict) {
				return err
			}
			return nil
		}
	}},
}

// lettersStay hides records of that kind from the inbox.
func lettersStay(kind string) func(*double) {
	return func(d *double) {
		inbox := blackboard.NewMemory()
		d.put, d.letters = inbox.Put, inbox.Letters
		d.append = func(ctx context.Context, recs []blackboard.Record) error {
			for _, r := range recs {
				if r.Kind == kind {
					r.Kind = blackboard.Called
				}
				if err := inbox.Append(ctx, []blackboard.Record{r}); err != nil {
					return err
				}
			}
			return d.Memory.Append(ctx, recs)
		}
	}
}
