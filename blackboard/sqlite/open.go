package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

// busyTimeout is how long a call waits for other processes.
const busyTimeout = 10 * time.Second

func (s Sync) pragma() string {
	if s == Normal {
		return "NORMAL"
	}
	return "FULL"
}

// writerDSN has the pragmas that a connection to write to needs. The cache of 4 MB
// holds the last pages of a thousand runs, and fits into that of a processor; the log
// is moved into the file every 8 MB instead of every 4, because many runs at once
// write many pages.
func writerDSN(cfg Config) string {
	return dsn(
		cfg.Path, "journal_mode(WAL)", "synchronous("+cfg.Sync.pragma()+")",
		"cache_size(-4000)", "wal_autocheckpoint(2000)",
	)
}

// readerDSN does not make a file that is missing.
func readerDSN(cfg Config) string { return dsn(cfg.Path, "query_only(1)") + "&mode=rw" }

func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if filepath.IsAbs(path) && !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_error_rc": {"1"}}
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// checkPath finds what SQLite would only call "unable to open".
func checkPath(path string) error {
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s: make it first", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("it is a directory: give the path of a file")
	}
	return nil
}

// openWriter connects and brings the schema up to date. While other processes do
// the same SQLite may refuse to switch to the write-ahead log without waiting for
// them, so it is tried again. From then on the connection does not wait for other
// processes: see conn.retry.
func openWriter(cfg Config) (*conn, error) {
	for began := time.Now(); ; {
		c, err := tryWriter(cfg)
		if code(err) != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout {
			return c, err
		}
		<-time.After(5 * time.Millisecond)
	}
}

func tryWriter(cfg Config) (*conn, error) {
	c, err := connect(writerDSN(cfg))
	if err != nil {
		return nil, err
	}
	err = migrate(c, versions)
	if err == nil {
		err = c.script("PRAGMA busy_timeout = 0")
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// code returns SQLite's primary result code of err, 0 if it has none.
func code(err error) int { return extendedCode(err) & 0xff }

func extendedCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// explain adds to an error of SQLite what to do.
func explain(err error) error {
	advice := ""
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		advice = "it is not a SQLite file: give the path of a new file, or of one that this package made"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		advice = "it cannot be written: the file and its directory must be writable, for -wal and -shm beside it too"
	case sqlite3.SQLITE_CANTOPEN:
		advice = "it cannot be opened: the file and its directory must be readable and writable"
	case sqlite3.SQLITE_BUSY:
		advice = fmt.Sprintf("another process kept it locked for %v: end that process, or its transaction", busyTimeout)
	case sqlite3.SQLITE_FULL:
		advice = "the disk is full: make room"
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %v: restore the file from a copy", blackboard.ErrDamaged, err) //nolint:errorlint // SQLite's error is no API
	default:
		return err
	}
	return fmt.Errorf("%s: %w", advice, err)
}
