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

	"github.com/convene-go/convene/blackboard"
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
func (o *owners) lock() (string, error) {
	if o.own != nil {
		if _, err := os.Stat(o.own.Path()); err == nil {
			return o.name(), nil
		}
		if err := o.unlock(); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(o.dir, 0o777); err != nil {
		return "", fmt.Errorf("folder for the locks of engines: %w", err)
	}
	l := o.file(rand.Text()+".lock", os.O_CREATE|os.O_EXCL|os.O_RDWR)
	ok, err := l.TryLock()
	if !ok {
		return "", fmt.Errorf("lock file %s cannot be locked: %w", l.Path(), errors.Join(err, l.Close()))
	}
	o.own = l
	return o.name(), nil
}

// name is that of the lock file, "" if there is none.
func (o *owners) name() string {
	if o.own == nil {
		return ""
	}
	return filepath.Base(o.own.Path())
}

func (o *owners) file(name string, flag int) *flock.Flock {
	return flock.New(filepath.Join(o.dir, name), flock.SetFlag(flag), flock.SetPermissions(0o666))
}

// unlock unlocks and removes the lock file, if there is one.
func (o *owners) unlock() error {
	l := o.own
	o.own = nil
	if l == nil {
		return nil
	}
	return remove(l)
}

// remove unlocks a lock file, then removes it: Windows removes no open file.
func remove(l *flock.Flock) error {
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
		return false, remove(l)
	}
	return err == nil, errors.Join(err, l.Close())
}

// checkFree returns an error if an engine of that name holds the lock of that name.
func (o *owners) checkFree(owner, lock string) error {
	held, err := o.held(lock)
	if err == nil && held {
		err = fmt.Errorf("%w: another engine is alive under the name %q: give each engine a name of its own", blackboard.ErrConflict, owner)
	}
	return err
}

// silent returns for how long beat is known to be the last of owner.
func (o *owners) silent(owner string, beat int64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if s, ok := o.seen[owner]; ok && s.beat == beat {
		return now.Sub(s.since)
	}
	o.seen[owner] = sighting{beat, now}
	return 0
}

// forget drops what is known of an engine that left.
func (o *owners) forget(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, owner)
}
