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
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.run(l.Run)
	if r.taken(l.Key) {
		return fmt.Errorf("%w: run %q has a letter for %q", ErrConflict, l.Run, l.Key)
	}
	l.Data = ownData(l.Data)
	r.letters = append(r.letters, l)
	return nil
}

// taken says whether a letter for key is here or in the log.
func (r *memoryRun) taken(key string) bool {
	if key == "" && r.canceled || key != "" && r.answered[key] {
		return true
	}
	return slices.ContainsFunc(r.letters, func(l Letter) bool { return l.Key == key })
}

func (r *memoryRun) dropLetter(key string) {
	r.letters = slices.DeleteFunc(r.letters, func(l Letter) bool { return l.Key == key })
}

// Letters implements [Inbox], in the order of runs and keys.
func (m *Memory) Letters(ctx context.Context, run string) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		for _, l := range m.lettersOf(run) {
			if err := ctx.Err(); err != nil {
				yield(Letter{}, err)
				return
			}
			l.Data = ownData(l.Data)
			if !yield(l, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Letter{}, err)
		}
	}
}

// lettersOf returns the letters of run, or of all runs, whose Data is shared.
func (m *Memory) lettersOf(run string) []Letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Letter
	for id, r := range m.runs {
		if run == "" || run == id {
			all = append(all, r.letters...)
		}
	}
	slices.SortFunc(all, func(a, b Letter) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key))
	})
	return all
}
