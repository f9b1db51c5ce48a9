package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

// busyTimeout is how long a call waits for other processes.
const busyTimeout = 10 * time.Second

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

// wrap is for the errors of exported methods.
func wrap(err error) error {
	switch text, ok := advice[code(err)]; {
	case err == nil:
		return nil
	case code(err) == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("sqlite: %w: %v: restore the file from a copy", blackboard.ErrDamaged, err) //nolint:errorlint // SQLite's error is no API
	case ok:
		return fmt.Errorf("sqlite: %s: %w", text, err)
	}
	return fmt.Errorf("sqlite: %w", err)
}

func damaged(run, format string, args ...any) error {
	return fmt.Errorf("%w: %s of run %q: restore the file from a copy", blackboard.ErrDamaged, fmt.Sprintf(format, args...), run)
}
