package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/convene-go/convene/blackboard/runlog"
)

// The codes of Postgres that the store looks at.
const (
	notNullViolation = "23502"
	deadlock         = "40P01"
	serialization    = "40001"
	readOnly         = "25006"
	undefinedTable   = "42P01"
	lockTimeout      = "55P03"
)

// code returns the code of Postgres of err, "" if it has none.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// seen closes the pool's connections to a server that has become read-only: after a
// failover they are useless.
func (s *Store) seen(err error) error {
	if code(err) == readOnly {
		s.cfg.Pool.Reset()
	}
	return err
}

// explain returns err for the host: errors of package runlog and of ctx unchanged,
// those of the driver as text that says what to do.
func explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return fmt.Errorf("postgres: %s: %w", what, ctxErr)
	}
	for _, own := range []error{
		runlog.ErrConflict, runlog.ErrDamaged, runlog.ErrTooLarge, runlog.ErrRefused,
		runlog.ErrNoBlob, runlog.ErrNoRun, os.ErrClosed, errRefused,
	} {
		if errors.Is(err, own) {
			return fmt.Errorf("postgres: %s: %w", what, err)
		}
	}
	if never := neverOf(code(err)); never != nil {
		return fmt.Errorf("postgres: %s: %w: %s: %v", what, never, advice(err), err) //nolint:errorlint // the driver's error is no API
	}
	return fmt.Errorf("postgres: %s: %s: %v", what, advice(err), err) //nolint:errorlint // the driver's error is no API
}

// neverOf returns what a code of Postgres means, if it is that of a value that can never
// be stored: a limit of the program, or a fault of the data. Else it is nil.
func neverOf(code string) error {
	switch {
	case strings.HasPrefix(code, "54"):
		return runlog.ErrTooLarge
	case strings.HasPrefix(code, "22"):
		return runlog.ErrRefused
	}
	return nil
}

// errRefused is a fault of the tables, found by this package.
var errRefused = errors.New("refused")

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errRefused, fmt.Sprintf(format, args...))
}

// advice says what a driver's error means and what to do.
func advice(err error) string {
	c := code(err)
	switch {
	case c == "":
		return "the server cannot be reached or did not answer in time"
	case c == "57014":
		return "it took longer than Config.Timeout, or than statement_timeout of the role or the DSN"
	case c == lockTimeout:
		return "another transaction kept a lock longer than Config.LockTimeout, or than lock_timeout of the role or the DSN"
	case c == readOnly:
		return "the server is read-only: connect with target_session_attrs=read-write"
	case c == serialization:
		return "a standby ended the query to apply changes: try again, or set hot_standby_feedback=on there"
	case c == "54000":
		return "a name is longer than an index of Postgres can hold"
	case c == undefinedTable, c == "3F000":
		return "the tables are missing: they were dropped while the store was open"
	case c == "42501", strings.HasPrefix(c, "28"):
		return "the role may not do this"
	case strings.HasPrefix(c, "53"):
		return "the server lacks room, memory or connections"
	case strings.HasPrefix(c, "57P"):
		return "the server is shutting down or starting"
	case strings.HasPrefix(c, "08"):
		return "the connection was lost"
	case strings.HasPrefix(c, "XX"):
		return "the server found damage"
	}
	return "the server refused"
}
