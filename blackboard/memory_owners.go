package blackboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Beat implements [Owners] by the monotonic clock of the process.
func (m *Memory) Beat(ctx context.Context, owner string, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if owner == "" || d <= 0 {
		return fmt.Errorf("blackboard: beat of engine %q for %v: want a name and more than 0", owner, d)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alive == nil {
		m.alive = make(map[string]time.Time)
	}
	m.alive[owner] = time.Now().Add(d)
	return nil
}

// Leave implements [Owners].
func (m *Memory) Leave(ctx context.Context, owner string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.alive, owner)
	return nil
}

// Alive implements [Owners].
func (m *Memory) Alive(ctx context.Context, owner string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.isAlive(owner), nil
}

func (m *Memory) isAlive(owner string) bool { return time.Now().Before(m.alive[owner]) }

// Orphans implements [Owners].
func (m *Memory) Orphans(ctx context.Context) iter.Seq2[Listing, error] {
	return yieldAll(ctx, ownListing, func() ([]Listing, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		orphans := m.selected(func(l Listing) bool { return !l.Ended && !m.isAlive(l.Owner) })
		slices.SortFunc(orphans, func(a, b Listing) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
		})
		return orphans, nil
	})
}
