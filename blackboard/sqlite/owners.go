package sqlite

// How owners are known to live
//
// A store that an engine beats through holds a lock file in FILE.owners, until it is
// closed or its process ends: then the operating system frees the lock. The row of an
// engine in the table owners names that file, and has another random beat each time.
//
//   - A lock that is free proves that the process has ended: the engine is dead at once.
//   - A lock that is held proves only that the process exists. It may be stopped, or hang.
//     So a beat must change within the engine's silence, measured by the clock of the
//     process that looks, from the moment when it first saw that beat.
//   - The name of a lock file is never used again. Who finds one free may remove it.
//   - Who looks shares the lock for a moment, so that two that look do not take each
//     other for its holder.
//   - A store that begins to beat forgets all engines whose locks are free, and removes
//     all lock files that are. It holds the file's write lock meanwhile, as does who
//     makes a lock file: so none is met before its store has locked it.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	putBeat = `INSERT INTO owners(owner, lock, beat, silence) VALUES(?, ?, random(), ?)
		ON CONFLICT(owner) DO UPDATE SET lock = excluded.lock, beat = excluded.beat, silence = excluded.silence`
	selectBeat  = "SELECT lock, beat, silence FROM owners WHERE owner = ?"
	selectLocks = "SELECT DISTINCT lock FROM owners"
	deleteLock  = "DELETE FROM owners WHERE lock = ?"
	deleteBeat  = "DELETE FROM owners WHERE owner = ? AND beat = ?" // not if it is back

	// selectOwners looks up each owner of open runs in the index, however many runs
	// it has.
	selectOwners = `WITH RECURSIVE next(owner) AS (SELECT min(owner) FROM runs WHERE ended = 0 UNION ALL
		SELECT (SELECT min(runs.owner) FROM runs WHERE ended = 0 AND runs.owner > next.owner) FROM next WHERE next.owner IS NOT NULL)
		SELECT owner FROM next WHERE owner IS NOT NULL`
)

// Beat implements [runlog.Owners]: from the first beat on the store holds a lock
// file, until it is closed or the process ends.
func (s *Store) Beat(ctx context.Context, owner string, d time.Duration) error {
	if owner == "" || d <= 0 {
		return cmp.Or(ctx.Err(), fmt.Errorf("sqlite: beat of engine %q for %v: want a name and more than 0", owner, d))
	}
	return s.change(ctx, func(c *conn) error {
		lock, fresh, err := s.owners.lock()
		if err == nil && fresh {
			err = s.owners.tidy(c)
		}
		if err != nil {
			return err
		}
		rows, err := c.all(selectBeat, owner)
		held := false
		if len(rows) > 0 && as[string](rows[0][0]) != lock {
			held, err = s.owners.isHeld(as[string](rows[0][0]))
		}
		switch {
		case err != nil:
			return err
		case held:
			return fmt.Errorf("%w: another engine is alive under the name %q: give each engine a name of its own", runlog.ErrConflict, owner)
		}
		return c.exec(putBeat, owner, lock, int64(d))
	})
}

// Leave implements [runlog.Owners].
func (s *Store) Leave(ctx context.Context, owner string) error {
	return s.change(ctx, func(c *conn) error { return c.exec("DELETE FROM owners WHERE owner = ?", owner) })
}

// Alive implements [runlog.Owners]. An engine whose lock is free is dead; one
// that holds its lock and has not beaten for its d, as far as s saw, is too: its
// process is stopped, or hangs.
func (s *Store) Alive(ctx context.Context, owner string) (bool, error) {
	rows, err := s.all(ctx, selectBeat, owner)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	row := rows[0]
	held, err := s.owners.isHeld(as[string](row[0]))
	if err != nil {
		return false, fmt.Errorf("sqlite: lock of engine %q: %w", owner, err)
	}
	if held {
		return s.owners.silentFor(owner, as[int64](row[1])) < time.Duration(as[int64](row[2])), nil
	}
	s.owners.forget(owner)
	return false, s.change(ctx, func(c *conn) error { return c.exec(deleteBeat, owner, row[1]) })
}

// Orphans implements [runlog.Owners]. It yields the runs that were orphans when
// it began.
func (s *Store) Orphans(ctx context.Context) iter.Seq2[runlog.Listing, error] {
	return pages(0, func(last *runlog.Listing, add func(runlog.Listing, int) error) error {
		if last != nil {
			return nil // all were in the first page
		}
		var orphans []runlog.Listing
		owners, err := s.all(ctx, selectOwners)
		if err != nil {
			return err
		}
		for _, row := range owners {
			owner := as[string](row[0])
			if alive, err := s.Alive(ctx, owner); err != nil {
				return err
			} else if alive {
				continue
			}
			for l, err := range s.List(ctx, runlog.Query{Open: true, Owner: owner}) {
				if err != nil {
					return err
				}
				if l.Owner == owner { // owner may be "", which selects all
					orphans = append(orphans, l)
				}
			}
		}
		slices.SortFunc(orphans, func(a, b runlog.Listing) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
		})
		for _, l := range orphans {
			_ = add(l, 0)
		}
		return nil
	})
}

// owners holds the lock of the engines that beat through a store, and knows when the
// store saw the last beat of each engine first.
//
// A lock file has a name that no other ever has. Only the store that made it locks it
// exclusively; others that look whether it is locked share it for a moment, so that
// they do not take each other for its holder.
type owners struct {
	dir  string       // folder of the lock files
	mode fs.FileMode  // mode of the lock files: that of the database
	own  *flock.Flock // nil: none; used by the call that has the store's turn

	mu   sync.Mutex // guards seen
	seen map[string]sighting
}

// sighting is a beat and when it was seen first.
type sighting struct {
	beat  int64
	since time.Time // Go compares it by the monotonic clock
}

// lock locks a new file, unless the one that is locked is still there, and returns
// its name. fresh: the file is new.
func (o *owners) lock() (name string, fresh bool, err error) {
	if o.own != nil {
		if _, err := os.Stat(o.own.Path()); err == nil {
			return filepath.Base(o.own.Path()), false, nil
		}
	}
	if err := errors.Join(release(o.own), o.makeDir()); err != nil {
		return "", false, fmt.Errorf("folder for the locks of engines: %w", err)
	}
	name = rand.Text() + suffix
	l := o.file(name, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	ok, err := l.TryLock()
	if ok {
		err = os.Chmod(l.Path(), o.mode) // whatever the umask
	}
	if !ok || err != nil {
		return "", false, fmt.Errorf("lock file %s cannot be locked: %w", l.Path(), errors.Join(err, l.Close()))
	}
	o.own = l
	return name, true, nil
}

const suffix = ".lock" // end of the names of lock files

// makeDir makes the folder, which those may search who may read the database.
func (o *owners) makeDir() error {
	err := os.Mkdir(o.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return os.MkdirAll(o.dir, 0o700) // nil if it is a folder
	}
	if err == nil {
		err = os.Chmod(o.dir, o.mode|o.mode&0o444>>2)
	}
	return err
}

// tidy forgets the engines whose processes have died, and removes their lock files. The
// transaction of c holds the write lock. A lock that cannot be looked at stays.
func (o *owners) tidy(c *conn) error {
	rows, err := c.all(selectLocks)
	for i := 0; i < len(rows) && err == nil; i++ {
		lock := as[string](rows[i][0])
		if held, unknown := o.isHeld(lock); !held && unknown == nil {
			err = c.exec(deleteLock, lock)
		}
	}
	files, _ := os.ReadDir(o.dir)
	for _, file := range files {
		if strings.HasSuffix(file.Name(), suffix) {
			_, _ = o.isHeld(file.Name()) // removes one that is free
		}
	}
	return err
}

func (o *owners) file(name string, flag int) *flock.Flock {
	return flock.New(filepath.Join(o.dir, name), flock.SetFlag(flag), flock.SetPermissions(o.mode))
}

// release unlocks a lock file, if there is one, then removes it: Windows removes no open
// file.
func release(l *flock.Flock) error {
	if l == nil {
		return nil
	}
	err := l.Close()
	if gone := os.Remove(l.Path()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// isHeld reports whether a process holds the lock of that name. It removes the file of a
// dead one.
func (o *owners) isHeld(name string) (bool, error) {
	l := o.file(name, os.O_RDWR) // makes no file
	free, err := l.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case free:
		return false, release(l)
	}
	return err == nil, errors.Join(err, l.Close())
}

// silentFor returns for how long beat is known to be the last of owner.
func (o *owners) silentFor(owner string, beat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if seen, ok := o.seen[owner]; ok && seen.beat == beat {
		return time.Since(seen.since)
	}
	o.seen[owner] = sighting{beat, time.Now()}
	return 0
}

func (o *owners) forget(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, owner)
}
