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
	return yieldAll(ctx, ownListing, func() ([]Listing, error) { return m.list(q) })
}

func (m *Memory) list(q Query) ([]Listing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	after, err := m.listing(q.After)
	if err != nil {
		return nil, err
	}
	list := m.selected(func(l Listing) bool {
		return q.Selects(l) && (q.After == "" || newestFirst(after, l) < 0)
	})
	if q.Limit > 0 && q.Limit < len(list) {
		list = list[:q.Limit]
	}
	return list, nil
}

// listing returns the zero Listing for no run.
func (m *Memory) listing(run string) (Listing, error) {
	if run == "" {
		return Listing{}, nil
	}
	if r := m.runs[run]; r != nil && len(r.recs) > 0 {
		return r.listing, nil
	}
	return Listing{}, fmt.Errorf("%w: %q", ErrNoRun, run)
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
	return cmp.Or(time.Time.Compare(b.Started, a.Started), cmp.Compare(a.Run, b.Run))
}

func ownListing(l Listing) Listing {
	l.Labels = maps.Clone(l.Labels)
	return l
}
