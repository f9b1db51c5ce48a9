package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is a connection with its prepared statements, for one goroutine at a time.
// It works on the driver itself, because the conversions and locks of
// database/sql would cost as much as SQLite does.
//
// Statements run without the caller's context: one that ends would interrupt a
// transaction that carries the records of other calls too.
type conn struct {
	dc    driver.Conn
	stmts map[string]*statement
	args  []driver.Value // of insert, to be used again
	head  []byte         // of checksums, to be used again
}

// statement is a prepared statement with room for its arguments and rows.
type statement struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	args  []driver.NamedValue
	row   []driver.Value
}

func connect(dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	dc, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{dc: dc, stmts: make(map[string]*statement)}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.dc.Close())...)
}

// script executes statements that are not worth preparing.
func (c *conn) script(sql string) error {
	execer, ok := c.dc.(driver.ExecerContext)
	if !ok {
		return errors.New("the driver cannot execute scripts")
	}
	_, err := execer.ExecContext(context.Background(), sql, nil)
	return err
}

// prepare returns the statement of sql with its arguments set.
func (c *conn) prepare(sql string, args []driver.Value) (*statement, error) {
	s := c.stmts[sql]
	if s == nil {
		prepared, err := c.dc.Prepare(sql)
		if err != nil {
			return nil, err
		}
		exec, canExec := prepared.(driver.StmtExecContext)
		query, canQuery := prepared.(driver.StmtQueryContext)
		if !canExec || !canQuery {
			return nil, fmt.Errorf("the driver's %T cannot be executed", prepared)
		}
		s = &statement{Stmt: prepared, exec: exec, query: query}
		c.stmts[sql] = s
	}
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s, nil
}

// run executes sql and returns how many rows it changed.
func (c *conn) run(sql string, args ...driver.Value) (int64, error) {
	result, err := c.execute(sql, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insertRow executes sql, an INSERT of one row, and returns the row's id.
func (c *conn) insertRow(sql string, args ...driver.Value) (int64, error) {
	result, err := c.execute(sql, args)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (c *conn) execute(sql string, args []driver.Value) (driver.Result, error) {
	s, err := c.prepare(sql, args)
	if err != nil {
		return nil, err
	}
	result, err := s.exec.ExecContext(context.Background(), s.args)
	clear(s.args) // what they point to may be large
	return result, err
}

// rows calls each with every row, until it returns [io.EOF] for enough, or an error.
// The row is valid until each returns; its strings and byte slices are the caller's.
func (c *conn) rows(each func(row []driver.Value) error, sql string, args ...driver.Value) (err error) {
	s, err := c.prepare(sql, args)
	if err != nil {
		return err
	}
	rows, err := s.query.QueryContext(context.Background(), s.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		err := rows.Next(s.row)
		if err == nil {
			err = each(s.row)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// first returns the first row, nil if there is none.
func (c *conn) first(sql string, args ...driver.Value) (first []driver.Value, err error) {
	err = c.rows(func(row []driver.Value) error {
		first = slices.Clone(row)
		return io.EOF
	}, sql, args...)
	return first, err
}

// begin begins a transaction that holds the file's write lock.
func (c *conn) begin() error {
	_, err := c.run("BEGIN IMMEDIATE")
	return err
}

// transaction calls f in a transaction.
func (c *conn) transaction(f func() error) error {
	if err := c.begin(); err != nil {
		return err
	}
	return c.finish(f())
}

// finish commits the transaction, or rolls it back for an error.
func (c *conn) finish(err error) error {
	if err == nil {
		_, err = c.run("COMMIT")
	}
	if err != nil {
		_, _ = c.run("ROLLBACK") // an error if SQLite has ended the transaction by itself
	}
	return err
}

// retry calls f, again while another process writes, until ctx is done or
// busyTimeout is over. SQLite's own wait would not look at ctx.
func (c *conn) retry(ctx context.Context, f func(*conn) error) error {
	began := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 32*time.Millisecond) {
		err := f(c)
		if code(err) != sqlite3.SQLITE_BUSY || time.Since(began) > busyTimeout {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
