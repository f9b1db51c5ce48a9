// Package sqlite keeps the logs of runs in one SQLite file.
//
// Several processes of one machine may use the file at once. It needs a local disk:
// neither SQLite's write-ahead log nor the locks of engines work over network file
// systems. Beside the file FILE there are FILE-wal and FILE-shm while it is in use,
// which belong to it, and the folder FILE.owners with a lock file for each store that
// engines beat through, by which other processes see at once that they have died.
package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Sync says when a record is durable.
type Sync int

const (
	// Full outlives a loss of power: a record is on the disk when Append returns.
	Full Sync = iota
	// Normal is several times as fast for a lone writer. A crash of the process
	// loses nothing; a loss of power may lose the last records, but leaves no gap.
	Normal
)

// Config is what [New] needs.
type Config struct {
	// Path is the file; it is made if it is missing, its directory is not.
	Path string

	// Sync says when a record is durable. Zero is Full.
	Sync Sync

	// Mode is the mode of a file that New makes, whatever the umask: bits of 0666 that
	// include 0600. Zero is 0600. The files beside the file get its mode, and the folder
	// of locks gets it with the right to search. A file that is there keeps its mode.
	Mode fs.FileMode
}

func (c Config) mode() fs.FileMode { return cmp.Or(c.Mode, 0o600) }

// Validate returns every problem of c joined into one error, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Path == "" || strings.HasPrefix(c.Path, ":memory:") || strings.HasPrefix(c.Path, "file:") {
		bad("Path is %q, want the path of a file (runlog.Memory is a store without a file)", c.Path)
	}
	if c.Sync != Full && c.Sync != Normal {
		bad("Sync is %d, want Full or Normal", c.Sync)
	}
	if m := c.mode(); m&0o600 != 0o600 || m&^0o666 != 0 {
		bad("Mode is %#o, want bits of 0666 that include 0600", m)
	}
	return errors.Join(errs...)
}

// Store keeps runs in a SQLite file. It is a [runlog.Store],
// [runlog.Owners], [runlog.Inbox], [runlog.Questions], [runlog.OpenQuestions],
// [runlog.Blobs] and [runlog.Deleter], safe for concurrent use, and starts no goroutine. A
// call that writes waits up to ten seconds, and as long as its context allows, while another
// process writes. When the file was deleted or replaced, calls that write return
// [runlog.ErrDamaged]; after Close every method returns [os.ErrClosed].
type Store struct {
	path    string
	file    os.FileInfo  // the file that is open
	life    sync.RWMutex // held for reading by calls under way, for writing by Close
	closed  bool
	readers chan *conn      // idle ones, kept for later
	turn    chan struct{}   // full while a call uses writer
	waiting chan appendCall // calls that the call of Append with the turn writes, too
	writer  *conn
	owners  owners
}

// Open opens the file at path with the defaults of [Config].
func Open(path string) (*Store, error) { return New(Config{Path: path}) }

// New opens the file, and makes it if it is missing. A file of one of the two versions
// before is brought up to date, in one transaction; programs of these versions cannot use
// it any more. The errors say what is wrong with the path: a file that may not be written, a
// missing directory, a file of something else, or of a version that this package does
// not know.
func New(cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Path)
	if err = errors.Join(cfg.Validate(), err); err != nil {
		return nil, wrap(err)
	}
	s := &Store{
		path: path, readers: make(chan *conn, 4), turn: make(chan struct{}, 1), waiting: make(chan appendCall),
		owners: owners{dir: path + ".owners", seen: make(map[string]sighting)},
	}
	if err = create(path, cfg.mode()); err == nil {
		s.writer, err = connect(path, toWrite)
	}
	if err == nil {
		// While other processes do the same SQLite may refuse to switch to the write-ahead log.
		err = s.writer.retry(context.Background(), func(c *conn) error { return prepareFile(c, cfg.Sync) })
		if err == nil {
			s.file, err = os.Stat(path)
		}
		if err == nil {
			s.owners.mode = s.file.Mode().Perm()
		}
		if err != nil {
			err = errors.Join(err, s.writer.close())
		}
	}
	if err != nil {
		return nil, wrap(fmt.Errorf("open %s: %w", cfg.Path, err))
	}
	return s, nil
}

// create makes an empty file of that mode, unless there is one: SQLite would make it
// readable by everybody. It leaves to SQLite to say why a file cannot be made.
func create(path string, mode fs.FileMode) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, mode)
	if err != nil {
		return nil //nolint:nilerr // SQLite says what is wrong
	}
	return errors.Join(f.Chmod(mode), f.Close())
}

// Close waits for calls under way and closes the file; engines that beat through s
// and have not left are dead. It may be called again.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := errors.Join(release(s.owners.own), s.writer.close())
	close(s.readers)
	for c := range s.readers {
		err = errors.Join(err, c.close())
	}
	return wrap(err)
}

// call calls f, unless ctx is done or s is closed.
func (s *Store) call(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return wrap(os.ErrClosed)
	}
	if err := f(); err != nil {
		return wrap(err)
	}
	return nil
}

// rows reads the rows of a query. A connection that saw an error is not used again.
func (s *Store) rows(ctx context.Context, each eachRow, sql string, args ...driver.Value) error {
	return s.call(ctx, func() (err error) {
		var c *conn
		select {
		case c = <-s.readers:
		default:
			if c, err = connect(s.path, toRead); err != nil {
				return err
			}
		}
		if err = c.rows(each, sql, args...); err == nil {
			select {
			case s.readers <- c:
				return nil
			default:
			}
		}
		return errors.Join(err, c.close())
	})
}

// all reads all rows of a query that has few.
func (s *Store) all(ctx context.Context, sql string, args ...driver.Value) (all [][]driver.Value, err error) {
	err = s.rows(ctx, keep(&all), sql, args...)
	return all, err
}

// change calls f in a transaction, again while another process writes.
func (s *Store) change(ctx context.Context, f func(*conn) error) error {
	return s.call(ctx, func() error {
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
		return s.write(ctx, func(c *conn) error { return c.transaction(f) })
	})
}

// write calls f with the connection to write to, which the call has the turn to use,
// again while another process writes. f changes nothing when it fails.
func (s *Store) write(ctx context.Context, f func(*conn) error) error {
	if err := s.writer.retry(ctx, f); err != nil {
		return err
	}
	return s.checkFile()
}

// checkFile returns an error if the file at the path is not the one that is open:
// what was written to that one is lost.
func (s *Store) checkFile() error {
	file, err := os.Stat(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(file, s.file) {
		return err
	}
	return fmt.Errorf("%w: the file %s was deleted or replaced while it was open: what was written since is lost; close the store, restore the file, and open it again", runlog.ErrDamaged, s.path)
}
