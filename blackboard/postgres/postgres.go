// Package postgres keeps the logs of runs in a Postgres database, for any number of
// processes on any number of machines.
//
// The host passes the pool of connections, and with it TLS, passwords and the choice
// of the server, all as in package pgxpool. Beside the pool each [Store] has one
// connection of its own, the session: its lock shows others that this process is
// alive, and it receives the changes of other processes. The session must reach the
// server itself, not through a pooler that shares connections, such as pgbouncer.
//
// A server that may fail over needs target_session_attrs=read-write in both.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/convene-go/convene/blackboard/runlog"
)

// The defaults of [Config].
const (
	DefaultSchema  = "convene"
	DefaultTimeout = 10 * time.Second
)

// Config is what [New] needs. Only Pool is required.
type Config struct {
	// Pool has the connections that the store uses. Its host closes it, after the
	// store. Two connections are enough; each engine that works through the store
	// wants one more.
	Pool *pgxpool.Pool

	// Session is the DSN of the store's own connection, for locks and notifications.
	// It leads to the server itself and to the same database. Empty: that of Pool,
	// which is right unless there is a pooler in between.
	Session string

	// Schema is the schema that holds the tables; it is made if it is missing.
	// Empty: DefaultSchema.
	Schema string

	// Prefix begins the names of all tables and indexes: up to 30 lower-case letters,
	// digits and underscores. Stores of one database that differ in Schema or Prefix
	// share nothing. Empty: none.
	Prefix string

	// Timeout is how long one statement may take, at least 1 ms. The server ends what
	// takes longer; records that change nothing but logs are one statement without
	// settings of its own, which the store cancels. Zero: DefaultTimeout.
	Timeout time.Duration

	// LockTimeout is how long other statements may wait for other transactions, at
	// least 1 ms. Zero: half of Timeout.
	LockTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Schema == "" {
		c.Schema = DefaultSchema
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.LockTimeout == 0 {
		c.LockTimeout = c.Timeout / 2
	}
	return c
}

var (
	schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	prefixName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,29})?$`)
)

// Validate returns every problem of c joined into one error, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Pool == nil {
		bad("Pool is nil, want a pool of connections (pgxpool.New)")
	}
	if _, err := pgx.ParseConfig(c.Session); c.Session != "" && err != nil {
		bad("Session is no DSN: %v", err)
	}
	if !schemaName.MatchString(c.Schema) {
		bad("Schema is %q, want up to 63 lower-case letters, digits and underscores", c.Schema)
	}
	if !prefixName.MatchString(c.Prefix) {
		bad("Prefix is %q, want up to 30 lower-case letters, digits and underscores, or none", c.Prefix)
	}
	if c.Timeout < time.Millisecond {
		bad("Timeout is %v, want 1 ms or more", c.Timeout)
	}
	if c.LockTimeout < time.Millisecond {
		bad("LockTimeout is %v, want 1 ms or more", c.LockTimeout)
	}
	return errors.Join(errs...)
}

// Store keeps runs in a Postgres database. It is a [runlog.Store],
// [runlog.Owners], [runlog.Notifier], [runlog.Messenger],
// [runlog.Inbox], [runlog.Questions], [runlog.OpenQuestions], [runlog.Blobs] and
// [runlog.Deleter], safe for concurrent use.
//
// Its errors are those of package runlog and of contexts; others say in words
// what to do and hide the driver's types. Texts of any bytes are kept: those that
// Postgres cannot hold are stored in hex. Run IDs and the names of flows and engines
// are limited by Postgres to about 2,000 bytes: longer ones are [runlog.ErrTooLarge].
// After Close every method returns [os.ErrClosed].
type Store struct {
	cfg     Config
	sql     *statements
	life    sync.RWMutex // held for reading by running calls, for writing by Close
	closed  bool
	stop    context.CancelFunc // ends the goroutines below
	work    sync.WaitGroup     // the goroutines of group, teller and session
	group   group
	teller  teller
	session session
	owners  owners
	doubt   atomic.Int64 // commits with an unknown result, which may not be on the standby

	messenger messenger
}

var (
	_ runlog.Store     = (*Store)(nil)
	_ runlog.Owners    = (*Store)(nil)
	_ runlog.Notifier  = (*Store)(nil)
	_ runlog.Messenger = (*Store)(nil)
	_ runlog.Inbox     = (*Store)(nil)
	_ runlog.Questions = (*Store)(nil)

	_ runlog.OpenQuestions = (*Store)(nil)
	_ runlog.Blobs         = (*Store)(nil)
	_ runlog.Deleter       = (*Store)(nil)
)

// New checks that the database can be used, makes the tables if they are missing,
// and brings older ones up to date. Processes that do the same at once wait for each
// other. The tables stay usable for older processes that are still running, unless
// the error that these get says otherwise.
func New(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	cfg = cfg.withDefaults()
	direct := cfg.Pool.Config().ConnConfig
	if cfg.Session != "" {
		var err error
		if direct, err = pgx.ParseConfig(cfg.Session); err != nil {
			return nil, explain(ctx, "read Session", err)
		}
	}
	life, stop := context.WithCancel(context.Background())
	s := &Store{cfg: cfg, sql: newStatements(cfg.Schema, cfg.Prefix), stop: stop, owners: owners{seen: map[string]sighting{}}}
	s.group.store = s
	s.teller = teller{store: s, name: rand.Text()}
	s.messenger = messenger{store: s, servers: map[string]*server{}, waiting: map[string]chan message{}}
	s.session = session{store: s, life: life, config: direct, changed: make(chan struct{})}
	if err := s.migrate(ctx, versions()); err != nil {
		stop()
		return nil, explain(ctx, "open schema "+cfg.Schema, err)
	}
	return s, nil
}

// Close waits for running calls and closes the session, not the pool. Engines that beat
// through s and have not left count as dead. It may be called again.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.work.Wait()
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
		return fmt.Errorf("postgres: %w", os.ErrClosed)
	}
	return nil
}

// limits makes a batch whose transaction has the store's time limits on the server.
func (s *Store) limits() *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue(setLimits, s.cfg.Timeout.Milliseconds(), s.cfg.LockTimeout.Milliseconds())
	return b
}

// setLimits holds for the transaction. A transaction that waits for its client holds locks.
const setLimits = `SELECT set_config('statement_timeout', $1::int8::text, true), set_config('lock_timeout', $2::int8::text, true),
	set_config('idle_in_transaction_session_timeout', $1::int8::text, true)`

// send sends the statements of b, which is from limits, as one transaction in one
// round trip. The caller reads and closes the results with finish.
func (s *Store) send(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	res := s.cfg.Pool.SendBatch(ctx, b)
	_, _ = res.Exec() // the limits; the next result repeats an error
	return res
}

// bound is ctx with the time limit of a statement, and a little more so that the
// server's own limit ends it first.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.Timeout+s.cfg.Timeout/4)
}

// do calls f, which talks to the server, within the time limit of a statement.
func (s *Store) do(ctx context.Context, what string, f func(ctx context.Context) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.life.RUnlock()
	bound, cancel := s.bound(ctx)
	defer cancel()
	return explain(ctx, what, s.seen(f(bound)))
}

// confirm makes sure that what is read is on the standby, too, if commits wait for one: a
// commit whose wait was interrupted may be on the primary only. A later commit waits for
// both.
func (s *Store) confirm(ctx context.Context) error {
	cut := s.doubt.Load()
	if cut == 0 {
		return nil
	}
	_, err := s.cfg.Pool.Exec(ctx, s.sql.of("UPDATE @versions SET at = at WHERE version = 1"))
	if err == nil {
		s.doubt.CompareAndSwap(cut, 0)
	}
	return s.unsure(err)
}

// unsure records an error that may have interrupted a commit.
func (s *Store) unsure(err error) error {
	if c := code(err); err != nil && (c == "" || strings.HasPrefix(c, "57")) {
		s.doubt.Add(1)
	}
	return err
}

// query reads the rows of one statement: each scans the current one.
func (s *Store) query(ctx context.Context, each func(row pgx.Rows) error, sql string, args ...any) error {
	return s.do(ctx, "read", func(ctx context.Context) error {
		if err := s.confirm(ctx); err != nil {
			return err
		}
		b := s.limits()
		b.Queue(sql, args...)
		res := s.send(ctx, b)
		rows, err := res.Query()
		for err == nil && rows.Next() {
			err = each(rows)
		}
		if rows != nil {
			rows.Close()
			err = cmp.Or(err, rows.Err())
		}
		return cmp.Or(err, res.Close())
	})
}
