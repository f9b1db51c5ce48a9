package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	crand "crypto/rand"

	"github.com/jackc/pgx/v5"
)

const (
	dialLimit = 5 * time.Second        // limit of one attempt to connect
	checkIdle = 5 * time.Second        // how long a session is quiet before it is checked
	firstWait = 20 * time.Millisecond  // pause between attempts to connect
	maxWait   = 500 * time.Millisecond // longest such pause
)

// session is the store's own connection. It holds an advisory lock that no other
// session ever had: while the lock is held, the process is alive. When the connection
// is lost, the session reconnects with a new lock, and the store's engines get that lock.
type session struct {
	store  *Store
	life   context.Context //nolint:containedctx // ends when the store is closed
	config *pgx.ConnConfig

	mu      sync.Mutex
	began   bool
	needed  bool          // an engine needs the lock; else the session only listens
	lock    int64         // lock that the connection holds; 0: there is no connection
	last    int64         // the newest lock, held or not
	err     error         // result of the last attempt to connect
	changed chan struct{} // closed at the end of each attempt
}

// held returns the lock that the session holds, or why it has none: it waits for an
// attempt to connect.
func (ss *session) held(ctx context.Context) (int64, error) {
	for attempts := 0; ; attempts++ {
		ss.mu.Lock()
		ss.needed = true
		ss.begin()
		lock, err, changed := ss.lock, ss.err, ss.changed
		ss.mu.Unlock()
		if lock != 0 {
			return lock, nil
		}
		if attempts > 0 && err != nil {
			return 0, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// start begins to connect, once.
func (ss *session) start() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.begin()
}

func (ss *session) begin() {
	if !ss.began {
		ss.began = true
		ss.store.work.Go(ss.run)
	}
}

// run keeps a connection until the store is closed.
func (ss *session) run() {
	wait := firstWait
	for ss.life.Err() == nil {
		conn, err := ss.connect()
		if err != nil {
			select {
			case <-ss.life.Done():
			case <-time.After(wait):
			}
			wait = min(2*wait, ss.longestWait(err))
			continue
		}
		wait = firstWait
		ss.listen(conn)
		ss.lost()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ss.life), time.Second)
		_ = conn.Close(ctx) // it failed, or the store is closed
		cancel()
	}
}

// longestWait is how long to wait after a failed attempt. On a standby LISTEN fails until
// it is promoted.
func (ss *session) longestWait(err error) time.Duration {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if code(err) == readOnly && !ss.needed {
		return checkIdle
	}
	return maxWait
}

// connect connects, takes a lock, and gives it to the engines that had the previous
// connection's lock.
func (ss *session) connect() (conn *pgx.Conn, err error) {
	ctx, cancel := context.WithTimeout(ss.life, dialLimit)
	defer cancel()
	lock := newLock()
	conn, err = pgx.ConnectConfig(ctx, ss.config.Copy())
	if err == nil {
		_, err = conn.Exec(ctx, ss.store.sql.of(fmt.Sprintf(
			`SELECT pg_advisory_lock(%[1]d); UPDATE @owners SET lock = %[1]d, beat = %[1]d WHERE lock = %[2]d; LISTEN %[3]s; LISTEN %[4]s`,
			lock, ss.last, ss.store.channel(), ss.store.inbound(lock))), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			_ = conn.Close(ctx)
		}
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if err == nil && ss.last != 0 {
		ss.store.owners.found()
	}
	if ss.err = err; err == nil {
		ss.lock, ss.last = lock, lock
	} else {
		ss.err = fmt.Errorf("the store's own connection (Config.Session): %w", err)
	}
	close(ss.changed)
	ss.changed = make(chan struct{})
	return conn, ss.err
}

// lost records that there is no connection.
func (ss *session) lost() {
	ss.store.owners.lost()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.lock = 0
}

// listen passes changes on until the connection fails or the store is closed.
func (ss *session) listen(conn *pgx.Conn) {
	ss.store.messenger.partial.Reset()
	for {
		ctx, cancel := context.WithTimeout(ss.life, checkIdle)
		n, err := conn.WaitForNotification(ctx)
		quiet := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && n.Channel != ss.store.channel():
			ss.store.messenger.receive(n.Payload)
		case err == nil:
			var c change
			if json.Unmarshal([]byte(n.Payload), &c) == nil && c.By != ss.store.teller.name {
				ss.store.teller.spread(c.Runs)
			}
		case ss.life.Err() != nil || !quiet:
			return
		default:
			ctx, cancel := context.WithTimeout(ss.life, dialLimit)
			err := conn.Ping(ctx)
			cancel()
			if err != nil {
				return
			}
		}
	}
}

// newLock returns a number other than 0 that no other session has.
func newLock() int64 {
	var b [8]byte
	_, _ = crand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:])>>1) | 1
}
