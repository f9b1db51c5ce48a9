package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"
)

// conn is a connection with its prepared statements, for one goroutine at a time.
// It works on the driver itself, because the conversions and locks of
// database/sql would cost as much as SQLite does.
//
// Statements run without the caller's context: one that ends would interrupt a
// transaction that carries the records of others too.
type conn struct {
	dc    driver.Conn
	stmts map[string]*statement
	args  []driver.Value // of insert, to be used again
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
	s, err := c.statement(sql)
	if err != nil {
		return nil, err
	}
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s, nil
}

func (c *conn) statement(sql string) (*statement, error) {
	if s := c.stmts[sql]; s != nil {
		return s, nil
	}
	prepared, err := c.dc.Prepare(sql)
	if err != nil {
		return nil, err
	}
	exec, canExec := prepared.(driver.StmtExecContext)
	query, canQuery := prepared.(driver.StmtQueryContext)
	if !canExec || !canQuery {
		return nil, fmt.Errorf("the driver's %T cannot be executed", prepared)
	}
	s := &statement{Stmt: prepared, exec: exec, query: query}
	c.stmts[sql] = s
	return s, nil
}

// run executes sql and returns how many rows it changed.
func (c *conn) run(sql string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(sql, args)
	if err != nil {
		return 0, err
	}
	result, err := s.execute()
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insertRow executes sql, an INSERT of one row, and returns the row's id.
func (c *conn) insertRow(sql string, args ...driver.Value) (int64, error) {
	s, err := c.prepare(sql, args)
	if err != nil {
		return 0, err
	}
	result, err := s.execute()
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (s *statement) execute() (driver.Result, error) {
	result, err := s.exec.ExecContext(context.Background(), s.args)
	clear(s.args) // what they point to may be large
	return result, err
}

// rows calls each with every row until it returns false. The row is valid until
// each returns; its strings and byte slices are the caller's.
func (c *conn) rows(each func(row []driver.Value) bool, sql string, args ...driver.Value) (err error) {
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
		if err := rows.Next(s.row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if !each(s.row) {
			return nil
		}
	}
}

// number returns the only value of a query.
func (c *conn) number(sql string, args ...driver.Value) (n int64, err error) {
	err = c.rows(func(row []driver.Value) bool {
		n = integer(row[0])
		return false
	}, sql, args...)
	return n, err
}

// transaction calls f in a transaction that holds the file's write lock.
func (c *conn) transaction(f func() error) error {
	if _, err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := f()
	if err == nil {
		if _, err = c.run("COMMIT"); err == nil {
			return nil
		}
	}
	c.rollback()
	return err
}

// rollback ends a transaction that failed. SQLite may have ended it by itself:
// then this is an error that means nothing.
func (c *conn) rollback() { _, _ = c.run("ROLLBACK") }

// integer, text and bytes read values that may be NULL.
func integer(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func text(v driver.Value) string {
	s, _ := v.(string)
	return s
}

func bytes(v driver.Value) []byte {
	b, _ := v.([]byte)
	return b
}

// textOrNull spares the space and time of empty texts.
func textOrNull(s string) driver.Value {
	if s == "" {
		return nil
	}
	return s
}

// bytesOrNull stores empty bytes as NULL, which are read as nil.
func bytesOrNull(b []byte) driver.Value {
	if len(b) == 0 {
		return nil
	}
	return b
}
