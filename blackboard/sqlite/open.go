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

// writerDSN has the pragmas that a connection to write to needs. The cache of 4 MB
// holds the last pages of a thousand runs, and fits into that of a processor; the log
// is moved into the file every 8 MB instead of every 4, because many runs at once
// write many pages.
func writerDSN(path string, sync Sync) string {
	synchronous := "synchronous(FULL)"
	if sync == Normal {
		synchronous = "synchronous(NORMAL)"
	}
	return dsn(path, "journal_mode(WAL)", synchronous, "cache_size(-4000)", "wal_autocheckpoint(2000)")
}

// readerDSN does not make a file that is missing.
func readerDSN(path string) string { return dsn(path, "query_only(1)") + "&mode=rw" }

func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_error_rc": {"1"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}}
	query["_pragma"] = append(query["_pragma"], pragmas...)
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

// openWriter connects and prepares the file. While other processes do the same SQLite
// may refuse to switch to the write-ahead log without waiting for them, so it is tried
// again. From then on the connection does not wait for other processes: see conn.retry.
func openWriter(path string, sync Sync) (*conn, error) {
	for began := time.Now(); ; {
		c, err := connect(writerDSN(path, sync))
		if err == nil {
			if err = prepareFile(c); err == nil {
				err = c.exec("PRAGMA busy_timeout = 0")
			}
			if err == nil {
				return c, nil
			}
			err = errors.Join(err, c.close())
		}
		if code(err) != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout {
			return nil, err
		}
		<-time.After(5 * time.Millisecond)
	}
}

// code returns SQLite's primary result code of err, 0 if it has none.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// advice says what to do about an error of SQLite.
var advice = map[int]string{
	sqlite3.SQLITE_NOTADB:   "it is not a SQLite file: give the path of a new file, or of one that this package made",
	sqlite3.SQLITE_READONLY: "it cannot be written: the file and its directory must be writable, for -wal and -shm beside it too",
	sqlite3.SQLITE_PERM:     "it cannot be written: the file and its directory must be writable, for -wal and -shm beside it too",
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened: the file and its directory must be readable and writable",
	sqlite3.SQLITE_BUSY:     fmt.Sprintf("another process kept it locked for %v: end that process, or its transaction", busyTimeout),
	sqlite3.SQLITE_FULL:     "the disk is full: make room",
}

func explain(err error) error {
	if code(err) == sqlite3.SQLITE_CORRUPT {
		return fmt.Errorf("%w: %v: restore the file from a copy", blackboard.ErrDamaged, err) //nolint:errorlint // SQLite's error is no API
	}
	if text := advice[code(err)]; text != "" {
		return fmt.Errorf("%s: %w", text, err)
	}
	return err
}
