package sqlite

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// owners holds the lock of the engines that beat through a store, and knows when the
// store saw the last beat of each engine first.
//
// A lock file has a name that no other ever has. Only the store that made it locks it
// exclusively; others that look whether it is locked share it for a moment, so that
// they do not take each other for its holder.
type owners struct {
	dir string       // of the lock files
	own *flock.Flock // nil: none; used by the call that has the store's turn

	mu   sync.Mutex // guards seen
	seen map[string]sighting
}

// sighting is a beat and when it was seen first.
type sighting struct {
	beat  int64
	since time.Time // Go compares it by the monotonic clock
}

// lock locks a new file, unless the one that is locked is still there, and returns
// its name.
func (o *owners) lock() (name string, err error) {
	if o.own != nil {
		if _, err := os.Stat(o.own.Path()); err == nil {
			return filepath.Base(o.own.Path()), nil
		}
		if err := release(o.own); err != nil {
			return "", err
		}
		o.own = nil
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return "", fmt.Errorf("folder for the locks of engines: %w", err)
	}
	name = rand.Text() + ".lock"
	l := o.file(name, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if ok, err := l.TryLock(); !ok {
		return "", fmt.Errorf("lock file %s cannot be locked: %w", l.Path(), errors.Join(err, l.Close()))
	}
	o.own = l
	return name, nil
}

func (o *owners) file(name string, flag int) *flock.Flock {
	return flock.New(filepath.Join(o.dir, name), flock.SetFlag(flag), flock.SetPermissions(0o666))
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

// held tells whether a process holds the lock of that name. It removes the file of a
// dead one.
func (o *owners) held(name string) (bool, error) {
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

// silent returns for how long beat is known to be the last of owner.
func (o *owners) silent(owner string, beat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, ok := o.seen[owner]
	if !ok || seen.beat != beat {
		seen = sighting{beat, time.Now()}
		o.seen[owner] = seen
	}
	return time.Since(seen.since)
}
