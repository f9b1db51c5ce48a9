package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard/runlog"
)

// busyTimeout is how long a call waits for other processes.
const busyTimeout = 10 * time.Second

// conn is a connection with its prepared statements, for one goroutine at a time.
// It works on the driver itself, because the conversions and locks of
// database/sql would cost as much as SQLite does.
//
// Statements run without the caller's context: one that ends would interrupt a
// transaction that carries the records of other calls too.
type conn struct {
	dc    driver.Conn
	stmts map[string]*statement
	buf   []byte // room that head uses again
}

// statement is a prepared statement with room for its arguments and rows.
type statement struct {
	prepared
	args []driver.NamedValue
	row  []driver.Value
}

type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Parameters of connections. One to write to does not wait for other processes: see
// conn.retry.
const (
	toRead  = "?_error_rc=1&mode=rw&_busy_timeout=10000&_query_only=1"
	toWrite = "?_error_rc=1&mode=rwc"
)

// connect opens the file at path, an absolute one.
func connect(path, params string) (*conn, error) {
	path = "/" + strings.TrimPrefix(filepath.ToSlash(path), "/") // the path may begin with a drive letter
	dc, err := new(sqlite.Driver).Open("file:" + (&url.URL{Path: path}).EscapedPath() + params)
	if err != nil {
		return nil, err
	}
	return &conn{dc: dc, stmts: make(map[string]*statement)}, nil
}

func (c *conn) close() (err error) {
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.dc.Close())
}

// prepare returns the statement of sql with its arguments set.
func (c *conn) prepare(sql string, args []driver.Value) (*statement, error) {
	s := c.stmts[sql]
	if s == nil {
		stmt, err := c.dc.Prepare(sql)
		if err != nil {
			return nil, err
		}
		p, ok := stmt.(prepared)
		if !ok {
			return nil, fmt.Errorf("the driver's %T cannot be executed", stmt)
		}
		s = &statement{prepared: p}
		c.stmts[sql] = s
	}
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s, nil
}

// exec executes sql. A row that a constraint of its table refuses is
// [runlog.ErrConflict], a value that is larger than SQLite can hold [runlog.ErrTooLarge].
func (c *conn) exec(sql string, args ...driver.Value) error {
	s, err := c.prepare(sql, args)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(context.Background(), s.args)
	clear(s.args) // the arguments may be large
	switch {
	case err == nil:
	case code(err) == sqlite3.SQLITE_CONSTRAINT:
		return runlog.ErrConflict
	case code(err) == sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %v", runlog.ErrTooLarge, err) //nolint:errorlint // SQLite's error is no API
	}
	return err
}

// eachRow is called with every row of a query, until it returns [io.EOF] for enough,
// or an error. The row is valid until it returns; its strings and byte slices are its
// own.
type eachRow func(c *conn, row []driver.Value) error

func (c *conn) rows(each eachRow, sql string, args ...driver.Value) (err error) {
	s, err := c.prepare(sql, args)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), s.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for err == nil {
		if err = rows.Next(s.row); err == nil {
			err = each(c, s.row)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// all returns all rows of a query that has few.
func (c *conn) all(sql string, args ...driver.Value) (all [][]driver.Value, err error) {
	err = c.rows(keep(&all), sql, args...)
	return all, err
}

func keep(all *[][]driver.Value) eachRow {
	return func(_ *conn, row []driver.Value) error {
		*all = append(*all, slices.Clone(row))
		return nil
	}
}

// transaction calls f in a transaction that holds the file's write lock.
func (c *conn) transaction(f func(*conn) error) error {
	err := c.exec("BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	if err = f(c); err == nil {
		err = c.exec("COMMIT")
	}
	if err != nil {
		_ = c.exec("ROLLBACK") // an error if SQLite has ended the transaction by itself
	}
	return err
}

// retry calls f, again while another process writes, until ctx is done or
// busyTimeout is over. SQLite's own wait would not look at ctx.
func (c *conn) retry(ctx context.Context, f func(*conn) error) error {
	began := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 32*time.Millisecond) {
		err := f(c)
		if err == nil || code(err) != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// as returns v, or zero if it is NULL or damaged.
func as[T int64 | string | []byte](v driver.Value) T {
	t, _ := v.(T)
	return t
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
	sqlite3.SQLITE_CANTOPEN: "it cannot be opened: give the path of a file in a directory that exists; both must be readable and writable",
	sqlite3.SQLITE_BUSY:     fmt.Sprintf("another process kept it locked for %v: end that process, or its transaction", busyTimeout),
	sqlite3.SQLITE_FULL:     "the disk is full: make room",
}

// wrap is for the errors of exported methods.
func wrap(err error) error {
	switch text, ok := advice[code(err)]; {
	case err == nil:
		return nil
	case code(err) == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("sqlite: %w: %v: restore the file from a copy", runlog.ErrDamaged, err) //nolint:errorlint // SQLite's error is no API
	case ok:
		return fmt.Errorf("sqlite: %s: %w", text, err)
	}
	return fmt.Errorf("sqlite: %w", err)
}
