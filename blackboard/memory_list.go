package blackboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// List implements [Store].
func (m *Memory) List(ctx context.Context, q Query) iter.Seq2[Listing, error] {
	return yieldAll(ctx, m, ownListing, func() ([]Listing, error) {
		var after Listing
		if q.After != "" {
			r, err := m.logged(q.After)
			if err != nil {
				return nil, err
			}
			after = r.listing
		}
		list := m.selected(func(l Listing) bool {
			return q.Selects(l) && (q.After == "" || newestFirst(after, l) < 0)
		})
		if q.Limit > 0 && q.Limit < len(list) {
			list = list[:q.Limit]
		}
		return list, nil
	})
}

// selected returns the runs for which selects is true, newest first.
func (m *Memory) selected(selects func(Listing) bool) []Listing {
	var list []Listing
	for _, r := range m.runs {
		if len(r.recs) > 0 && selects(r.listing) {
			list = append(list, r.listing)
		}
	}
	slices.SortFunc(list, newestFirst)
	return list
}

// newestFirst is the order of List.
func newestFirst(a, b Listing) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Run, b.Run))
}

func ownListing(l Listing) Listing {
	l.Labels = maps.Clone(l.Labels)
	return l
}

// Beat implements [Owners] by the monotonic clock of the process.
func (m *Memory) Beat(ctx context.Context, owner string, d time.Duration) error {
	return m.locked(ctx, func() error {
		if owner == "" || d <= 0 {
			return fmt.Errorf("blackboard: beat of engine %q for %v: want a name and more than 0", owner, d)
		}
		if m.alive == nil {
			m.alive = make(map[string]time.Time)
		}
		m.alive[owner] = time.Now().Add(d)
		return nil
	})
}

// Leave implements [Owners].
func (m *Memory) Leave(ctx context.Context, owner string) error {
	return m.locked(ctx, func() error {
		delete(m.alive, owner)
		return nil
	})
}

// Alive implements [Owners].
func (m *Memory) Alive(ctx context.Context, owner string) (alive bool, err error) {
	err = m.locked(ctx, func() error {
		alive = m.isAlive(owner)
		return nil
	})
	return alive, err
}

func (m *Memory) isAlive(owner string) bool { return time.Now().Before(m.alive[owner]) }

// Orphans implements [Owners].
func (m *Memory) Orphans(ctx context.Context) iter.Seq2[Listing, error] {
	return yieldAll(ctx, m, ownListing, func() ([]Listing, error) {
		orphans := m.selected(func(l Listing) bool { return !l.Ended && !m.isAlive(l.Owner) })
		slices.SortFunc(orphans, func(a, b Listing) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
		})
		return orphans, nil
	})
}
