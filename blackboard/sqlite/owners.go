package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/convene-go/convene/blackboard"
)

const (
	putBeat = `INSERT INTO owners(owner, lock, beat, silence) VALUES(?, ?, random(), ?)
		ON CONFLICT(owner) DO UPDATE SET lock = excluded.lock, beat = excluded.beat, silence = excluded.silence`
	selectBeat = "SELECT lock, beat, silence FROM owners WHERE owner = ?"

	// selectOwners looks up each owner of open runs in the index, however many runs
	// it has.
	selectOwners = `WITH RECURSIVE next(owner) AS (SELECT min(owner) FROM runs WHERE ended = 0 UNION ALL
		SELECT (SELECT min(runs.owner) FROM runs WHERE ended = 0 AND runs.owner > next.owner) FROM next WHERE next.owner IS NOT NULL)
		SELECT owner FROM next WHERE owner IS NOT NULL`
)

// Beat implements [blackboard.Owners]: from the first beat on the store holds a lock
// file, until it is closed or the process ends.
func (s *Store) Beat(ctx context.Context, owner string, d time.Duration) error {
	if owner == "" || d <= 0 {
		return cmp.Or(ctx.Err(), fmt.Errorf("sqlite: beat of engine %q for %v: want a name and more than 0", owner, d))
	}
	return s.change(ctx, func(c *conn) error {
		lock, err := s.owners.lock()
		if err != nil {
			return err
		}
		row, err := c.first(selectBeat, owner)
		if err != nil {
			return err
		}
		if row != nil && as[string](row[0]) != lock {
			held, err := s.owners.held(as[string](row[0]))
			if err != nil {
				return err
			}
			if held {
				return fmt.Errorf("%w: another engine is alive under the name %q: give each engine a name of its own", blackboard.ErrConflict, owner)
			}
		}
		return c.exec(putBeat, owner, lock, int64(d))
	})
}

// Leave implements [blackboard.Owners].
func (s *Store) Leave(ctx context.Context, owner string) error {
	return s.change(ctx, func(c *conn) error { return c.exec("DELETE FROM owners WHERE owner = ?", owner) })
}

// Alive implements [blackboard.Owners]. An engine whose lock is free is dead; one
// that holds its lock and has not beaten for its d, as far as s saw, is too: its
// process is stopped, or hangs.
func (s *Store) Alive(ctx context.Context, owner string) (bool, error) {
	row, err := s.first(ctx, selectBeat, owner)
	if err != nil || row == nil {
		return false, err
	}
	held, err := s.owners.held(as[string](row[0]))
	if err != nil {
		return false, fmt.Errorf("sqlite: lock of engine %q: %w", owner, err)
	}
	return held && s.owners.silent(owner, as[int64](row[1])) < time.Duration(as[int64](row[2])), nil
}

// Orphans implements [blackboard.Owners]. It yields the runs that were orphans when
// it began.
func (s *Store) Orphans(ctx context.Context) iter.Seq2[blackboard.Listing, error] {
	return pages(0, func(last *blackboard.Listing, add func(blackboard.Listing, int) error) error {
		if last != nil {
			return nil // all are in the first page
		}
		orphans, err := s.orphans(ctx)
		for _, l := range orphans {
			_ = add(l, 0)
		}
		return err
	})
}

func (s *Store) orphans(ctx context.Context) (orphans []blackboard.Listing, err error) {
	owners, err := s.texts(ctx, selectOwners)
	if err != nil {
		return nil, err
	}
	for _, owner := range owners {
		if alive, err := s.Alive(ctx, owner); alive || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		for l, err := range s.List(ctx, blackboard.Query{Open: true, Owner: owner}) {
			if err != nil {
				return nil, err
			}
			if l.Owner == owner { // which may be none
				orphans = append(orphans, l)
			}
		}
	}
	slices.SortFunc(orphans, func(a, b blackboard.Listing) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
	})
	return orphans, nil
}
