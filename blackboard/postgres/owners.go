package postgres

// How owners are known to live
//
// A store that an engine beats through has one connection of its own, the session (see
// session.go), which holds an advisory lock. The row of an engine in the table owners
// names the lock, and has another random beat each time.
//
//   - A lock that is free for unlockedFor proves that the engine is dead. A shorter time
//     does not: a session that was cut off connects again, with another lock.
//   - While this store's own session is lost, and for recovery after it is back, a free
//     lock proves nothing: the server was down, and all sessions with it.
//   - A lock that is held proves only that the server has the connection. So a beat must
//     change within the engine's silence, measured by the clock of the process that looks,
//     from the moment when it first saw that beat. No clocks are compared.
//   - A standby has no locks. There only beats count.
//   - Each beat of a store forgets the engines that are dead by these rules and have been
//     silent for too long by the server's clock, too.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	// unlockedFor is how long the lock of an engine must be seen free until the engine
	// counts as dead: long enough for a lost session to reconnect.
	unlockedFor = 400 * time.Millisecond

	// recovery is how long a free lock proves nothing after an outage of the server:
	// all sessions were lost, and some take longer than others to reconnect.
	recovery = 2 * time.Second
)

const (
	// isHeld is true on a standby, which does not have the locks: there only the beats
	// count, which are replicated.
	isHeld = `(pg_is_in_recovery() OR EXISTS(SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint << 32 | objid::bigint = o.lock))`

	putBeat = `INSERT INTO @owners AS o(owner, lock, beat, silence, beat_at) VALUES($1, $2, $3, $4, now())
		ON CONFLICT(owner) DO UPDATE SET lock = excluded.lock, beat = excluded.beat, silence = excluded.silence, beat_at = excluded.beat_at
		WHERE o.lock = excluded.lock OR NOT ` + isHeld

	// selectSilent finds engines that may have died. Whether they have is for isAlive to
	// say: during an outage no engine can beat, and no session holds a lock.
	selectSilent = `SELECT owner, lock, beat, silence, false FROM @owners o
		WHERE beat_at < now() - make_interval(secs => silence / 1e9) AND NOT ` + isHeld
	deleteOwner = "DELETE FROM @owners WHERE owner = $1 AND lock = $2 AND beat = $3" // not if it is back

	selectOwner = "SELECT owner, lock, beat, silence, " + isHeld + " FROM @owners o WHERE owner = $1"

	// selectOwners looks up each owner of open runs in the index, however many runs
	// it has. One that never called Beat has NULLs.
	selectOwners = `WITH RECURSIVE next(owner) AS (SELECT min(owner) FROM @runs WHERE NOT ended UNION ALL
		SELECT (SELECT min(r.owner) FROM @runs r WHERE NOT ended AND r.owner > next.owner) FROM next WHERE next.owner IS NOT NULL)
		SELECT next.owner, coalesce(o.lock, 0), coalesce(o.beat, 0), coalesce(o.silence, 0), o.lock IS NOT NULL AND ` + isHeld + `
		FROM next LEFT JOIN @owners o USING (owner) WHERE next.owner IS NOT NULL`
)

// owners records since when the store has seen the current beat of each engine.
type owners struct {
	mu   sync.Mutex // guards all
	seen map[string]sighting
	cut  bool      // the store's own session is lost: the server may be down
	back time.Time // when it last reconnected
}

// sighting is what was seen of an engine, and since when, by the monotonic clock.
type sighting struct {
	lock, beat   int64
	since        time.Time // the beat
	unlocked     bool
	unlockedFrom time.Time
}

// life is a row of owners. A lock of 0: there is no row.
type life struct {
	owner             string
	lock, beat, limit int64
	held              bool
}

// isAlive evaluates a row. The engine is dead when its lock was free for a while, or its
// beat is older than its limit.
func (o *owners) isAlive(row life) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if row.lock == 0 {
		delete(o.seen, row.owner)
		return false
	}
	now := time.Now()
	s, ok := o.seen[row.owner]
	if !ok || s.beat != row.beat || s.lock != row.lock {
		s = sighting{lock: row.lock, beat: row.beat, since: now}
	}
	if !row.held && !s.unlocked {
		s.unlockedFrom = now
	}
	s.unlocked = !row.held
	o.seen[row.owner] = s
	free := !row.held && now.Sub(s.unlockedFrom) >= unlockedFor && !o.cut && now.Sub(o.back) >= recovery
	return now.Sub(s.since) < time.Duration(row.limit) && !free
}

// forget drops all sightings. They prove nothing after an outage of the server, during
// which no engine could beat.
func (o *owners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.seen)
}

// lost records that the store's own session is lost.
func (o *owners) lost() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cut = true
}

// found records that it has reconnected.
func (o *owners) found() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.seen)
	o.cut, o.back = false, time.Now()
}

// Beat implements [runlog.Owners]: from the first beat on the store has a session,
// whose lock shows that the process is alive.
func (s *Store) Beat(ctx context.Context, owner string, d time.Duration) error {
	if owner == "" || d <= 0 {
		return cmp.Or(ctx.Err(), fmt.Errorf("postgres: beat of engine %q for %v: want a name and more than 0", owner, d))
	}
	err := s.do(ctx, "beat", func(ctx context.Context) error {
		for {
			lock, err := s.session.held(ctx)
			if err != nil {
				return err
			}
			if err := s.beat(ctx, owner, lock, d); err != nil {
				return err
			}
			// If the session was lost meanwhile, the row has a lock that is not held.
			if now, err := s.session.held(ctx); err != nil || now == lock {
				return err
			}
		}
	})
	if err == nil {
		_ = s.tidy(ctx) // the next beat tries again
	}
	return err
}

// tidy forgets engines that are dead and have not left.
func (s *Store) tidy(ctx context.Context) error {
	rows, err := s.lives(ctx, selectSilent)
	for i := 0; i < len(rows) && err == nil; i++ {
		row := rows[i]
		if s.owners.isAlive(row) {
			continue
		}
		err = s.do(ctx, "forget engine", func(ctx context.Context) error {
			_, err := s.cfg.Pool.Exec(ctx, s.sql.of(deleteOwner), toText(row.owner), row.lock, row.beat)
			return err
		})
		s.owners.isAlive(life{owner: row.owner}) // drops what was seen of it
	}
	return err
}

func (s *Store) beat(ctx context.Context, owner string, lock int64, d time.Duration) error {
	b := s.limits()
	b.Queue(s.sql.of(putBeat), toText(owner), lock, newLock(), int64(d))
	res := s.send(ctx, b)
	tag, err := res.Exec()
	if err == nil && tag.RowsAffected() == 0 {
		err = fmt.Errorf("%w: another engine is alive under the name %q: give each engine a name of its own", runlog.ErrConflict, owner)
	}
	return cmp.Or(err, res.Close())
}

// Leave implements [runlog.Owners].
func (s *Store) Leave(ctx context.Context, owner string) error {
	return s.do(ctx, "leave", func(ctx context.Context) error {
		b := s.limits()
		b.Queue(s.sql.of("DELETE FROM @owners WHERE owner = $1"), toText(owner))
		return s.send(ctx, b).Close()
	})
}

// Alive implements [runlog.Owners]. An engine is dead when s has seen its session lost
// for 0.4 seconds, or when s has seen no beat for longer than the engine's d although it
// has a session: its process is stopped, or disconnected.
func (s *Store) Alive(ctx context.Context, owner string) (bool, error) {
	rows, err := s.lives(ctx, selectOwner, toText(owner))
	if err != nil {
		return false, err
	}
	if len(rows) == 0 {
		rows = []life{{owner: owner}}
	}
	return s.owners.isAlive(rows[0]), nil
}

// lives reads rows of owners.
func (s *Store) lives(ctx context.Context, sql string, args ...any) (rows []life, err error) {
	err = s.query(ctx, func(row pgx.Rows) error {
		var l life
		err := row.Scan(&l.owner, &l.lock, &l.beat, &l.limit, &l.held)
		l.owner = fromText(l.owner)
		rows = append(rows, l)
		return err
	}, s.sql.of(sql), args...)
	if err != nil {
		s.owners.forget()
	}
	return rows, err
}

// Orphans implements [runlog.Owners]. It yields the runs that were orphans when
// it began.
func (s *Store) Orphans(ctx context.Context) iter.Seq2[runlog.Listing, error] {
	return collected(ctx, func() (orphans []runlog.Listing, err error) {
		rows, err := s.lives(ctx, selectOwners)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if s.owners.isAlive(row) {
				continue
			}
			owned := where{before: 3}
			owned.and("NOT ended AND owner = $%d", toText(row.owner))
			for l, err := range s.list(ctx, math.MaxInt64, "", 0, owned) {
				if err != nil {
					return nil, err
				}
				orphans = append(orphans, l)
			}
		}
		slices.SortFunc(orphans, func(a, b runlog.Listing) int {
			return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run))
		})
		return orphans, nil
	})
}
