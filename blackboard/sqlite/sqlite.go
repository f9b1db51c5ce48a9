// Package sqlite keeps the logs of runs in one SQLite file.
//
// Several processes may use the file at once. It needs a local disk: SQLite's
// write-ahead log does not work over network file systems. Beside the file FILE
// there are FILE-wal and FILE-shm while it is in use; they belong to it.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/convene-go/convene/blackboard"
)

// Sync says when a record is durable.
type Sync int

const (
	// Full has every record on the disk when Append returns. It outlives a loss
	// of power.
	Full Sync = iota
	// Normal is several times as fast for a lone writer. A crash of the process
	// loses nothing, a loss of power may lose the last records, but never leaves a
	// gap or a damaged file.
	Normal
)

// Config is what [New] needs.
type Config struct {
	// Path is the file; it is made if it is missing, its directory is not.
	Path string

	// Sync says when a record is durable. Zero is Full.
	Sync Sync
}

// Validate returns every problem of c joined into one error, or nil.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Path == "" {
		bad("Path is empty (blackboard.Memory is a store without a file)")
	}
	if c.Sync != Full && c.Sync != Normal {
		bad("Sync is %d, want Full or Normal", c.Sync)
	}
	return errors.Join(errs...)
}

// Store keeps runs in a SQLite file. It is a [blackboard.Store],
// [blackboard.Leaser], [blackboard.Inbox], [blackboard.Blobs] and
// [blackboard.Deleter], safe for concurrent use, and starts no goroutine.
//
// A call that writes waits up to ten seconds while another process writes; the
// end of its context does not cut that short. After Close every method returns
// [os.ErrClosed].
type Store struct {
	life    sync.RWMutex // held for reading by calls under way, for writing by Close
	closed  bool
	appends queue
	readers pool
	write   sync.Mutex // guards writer
	writer  *conn
}

var (
	_ blackboard.Store   = (*Store)(nil)
	_ blackboard.Leaser  = (*Store)(nil)
	_ blackboard.Inbox   = (*Store)(nil)
	_ blackboard.Blobs   = (*Store)(nil)
	_ blackboard.Deleter = (*Store)(nil)
)

// Open opens the file at path with the defaults of [Config].
func Open(path string) (*Store, error) { return New(Config{Path: path}) }

// New opens the file, makes it if it is missing, and brings a file of an older
// version of this package up to date. The errors say what is wrong with the path:
// a file that may not be written, a missing directory, a file of something else,
// or of a newer version.
func New(cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if err := checkPath(cfg.Path); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", cfg.Path, err)
	}
	writer, err := openWriter(cfg)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", cfg.Path, explain(err))
	}
	return &Store{
		writer:  writer,
		readers: pool{open: func() (*conn, error) { return connect(readerDSN(cfg)) }},
	}, nil
}

// Close waits for calls under way and closes the file. It may be called again.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if err := errors.Join(s.readers.close(), s.writer.close()); err != nil {
		return fmt.Errorf("sqlite: close: %w", err)
	}
	return nil
}

// enter begins a call, which must end with s.life.RUnlock if there is no error.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return fmt.Errorf("sqlite: %w", os.ErrClosed)
	}
	return nil
}

// read calls f with a connection to read from.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.readers.with(f); err != nil {
		return fmt.Errorf("sqlite: %w", explain(err))
	}
	return nil
}

// change calls f with the connection to write to.
func (s *Store) change(ctx context.Context, f func(*conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	s.write.Lock()
	defer s.write.Unlock()
	if err := f(s.writer); err != nil {
		return fmt.Errorf("sqlite: %w", explain(err))
	}
	return nil
}
