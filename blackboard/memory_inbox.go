package blackboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
)

// Put implements [Inbox].
func (m *Memory) Put(ctx context.Context, l Letter) error {
	return m.locked(ctx, func() error {
		r, err := m.logged(l.Run)
		switch {
		case err != nil:
			return err
		case r.listing.Ended:
			return fmt.Errorf("%w: %q", ErrEnded, l.Run)
		case r.refuses(l.Key):
			return fmt.Errorf("%w: run %q takes no further letter for key %q", ErrConflict, l.Run, l.Key)
		}
		r.letters = append(r.letters, ownLetter(l))
		m.notify(l.Run)
		return nil
	})
}

// refuses tells whether the log has closed key, or a letter for it is here.
func (r *memoryRun) refuses(key string) bool {
	if key == "" && r.canceled {
		return true
	}
	if newest, ok := r.asks[key]; ok && key != "" && newest != Asked {
		return true
	}
	return slices.ContainsFunc(r.letters, func(l Letter) bool { return l.Key == key })
}

func (r *memoryRun) dropLetter(key string) {
	r.letters = slices.DeleteFunc(r.letters, func(l Letter) bool { return l.Key == key })
}

func ownLetter(l Letter) Letter {
	l.Data = ownData(l.Data)
	return l
}

// Letters implements [Inbox], in the order of runs and keys.
func (m *Memory) Letters(ctx context.Context, run string) iter.Seq2[Letter, error] {
	return yieldAll(ctx, m, ownLetter, func() (all []Letter, err error) {
		for id, r := range m.runs {
			if run == "" || run == id {
				all = append(all, r.letters...)
			}
		}
		slices.SortFunc(all, func(a, b Letter) int {
			return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key))
		})
		return all, nil
	})
}

// Asks implements [Inbox].
func (m *Memory) Asks(ctx context.Context, run, key string) iter.Seq2[Record, error] {
	return yieldAll(ctx, m, own, func() (asks []Record, err error) {
		if r := m.runs[run]; r != nil {
			for _, rec := range r.recs {
				if AskKind(rec.Kind) && (key == "" || rec.Name == key) {
					asks = append(asks, rec)
				}
			}
		}
		return asks, nil
	})
}
