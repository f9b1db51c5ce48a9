package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

// version is a change of the tables.
type version struct {
	sql string // statements that change the tables

	// oldest is the version of the oldest programs that can still use the tables
	// afterwards. A change that only adds keeps it.
	oldest int

	// then does in the same transaction what SQL cannot do. Nil: nothing.
	then func(ctx context.Context, tx pgx.Tx, sql *statements) error
}

// migrate brings the tables up to date in one transaction.
func (s *Store) migrate(ctx context.Context, versions []version) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.checkEncoding(ctx); err != nil {
		return err
	}
	from, err := s.version(ctx, s.cfg.Pool, versions)
	if err != nil || from >= len(versions) {
		return err
	}
	return pgx.BeginFunc(ctx, s.cfg.Pool, func(tx pgx.Tx) error {
		b := s.limits()
		b.Queue("SELECT pg_advisory_xact_lock($1)", s.sql.number("migrate"))
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		from, err := s.version(ctx, tx, versions)
		if err == nil && from == 0 {
			err = s.makeSchema(ctx, tx)
		}
		for v := from; v < len(versions) && err == nil; v++ {
			if err = s.apply(ctx, tx, v+1, &versions[v]); err != nil {
				err = fmt.Errorf("bring the tables from version %d to %d: %w", v, v+1, err)
			}
		}
		return err
	})
}

// apply turns the tables into those of version number.
func (s *Store) apply(ctx context.Context, tx pgx.Tx, number int, v *version) error {
	_, err := tx.Exec(ctx, s.sql.of(v.sql), pgx.QueryExecModeSimpleProtocol)
	if err == nil && v.then != nil {
		err = v.then(ctx, tx, s.sql)
	}
	if err == nil {
		_, err = tx.Exec(ctx, s.sql.of("INSERT INTO @versions(version, oldest, at) VALUES($1, $2, now())"), number, v.oldest)
	}
	return err
}

func (s *Store) checkEncoding(ctx context.Context) error {
	var encoding string
	if err := s.cfg.Pool.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return refused("the database has the encoding %s, want UTF8: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return nil
}

// makeSchema checks first whether the schema exists: CREATE SCHEMA IF NOT EXISTS requires
// the right to create it in any case.
func (s *Store) makeSchema(ctx context.Context, tx pgx.Tx) error {
	var there bool
	err := tx.QueryRow(ctx, "SELECT EXISTS(SELECT 1 FROM pg_namespace WHERE nspname = $1)", s.cfg.Schema).Scan(&there)
	if err == nil && !there {
		_, err = tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{s.cfg.Schema}.Sanitize())
	}
	if err == nil {
		_, err = tx.Exec(ctx, s.sql.of("CREATE TABLE @versions(version integer PRIMARY KEY, oldest integer NOT NULL, at timestamptz NOT NULL)"))
	}
	return err
}

// version returns the version of the tables, 0 if there are none. Tables that this
// program cannot use are an error.
func (s *Store) version(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, versions []version,
) (int, error) {
	var there bool
	// to_regclass does not see what was made while this transaction waited.
	err := db.QueryRow(ctx, "SELECT EXISTS(SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2)", s.cfg.Schema, s.cfg.Prefix+"versions").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var v, oldest int
	err = db.QueryRow(ctx, s.sql.of("SELECT version, oldest FROM @versions ORDER BY version DESC LIMIT 1")).Scan(&v, &oldest)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, refused("the table %s is empty: restore the database, or use another Schema", s.sql.of("@versions"))
	case err == nil && oldest > len(versions):
		return 0, refused("the tables have version %d, for programs of version %d and newer; this one has version %d: use a newer program", v, oldest, len(versions))
	}
	return v, err
}

// rewriteLetters gives the letters of version 1 the rounds that their questions have by
// the log. A letter that is damaged stays so.
func rewriteLetters(ctx context.Context, tx pgx.Tx, sql *statements) error {
	type letter struct {
		runlog.Letter
		id, no int64
		sum    int32
	}
	rows, err := tx.Query(ctx, sql.of("SELECT id, no, run, key, expired, data, sum FROM @inbox JOIN @runs USING (no)"))
	if err != nil {
		return err
	}
	letters, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l letter, err error) {
		var data []byte
		err = row.Scan(&l.id, &l.no, &l.Run, &l.Key, &l.Expired, &data, &l.sum)
		l.Run, l.Key, l.Data = fromText(l.Run), fromText(l.Key), data
		return l, err
	})
	for i := 0; i < len(letters) && err == nil; i++ {
		l := &letters[i]
		if l.sum != sum(l.Data, letterNumbers(l.Letter)[:1], l.Run, l.Key) {
			continue
		}
		if l.Round, err = lastRound(ctx, tx, sql, l.no, l.Key); err == nil {
			_, err = tx.Exec(ctx, sql.of("UPDATE @inbox SET round = $2, sum = $3 WHERE id = $1"), l.id, l.Round, letterSum(l.Letter))
		}
	}
	return err
}

// lastRound returns how often the question of key was opened again, by its records in the
// run of that number.
func lastRound(ctx context.Context, tx pgx.Tx, sql *statements, no int64, key string) (round int, err error) {
	if key == "" {
		return 0, nil
	}
	rows, err := tx.Query(ctx, sql.of("SELECT kind, data FROM @log WHERE no = $1 AND "+askKinds+" AND left(name, 100) = left($2, 100) AND name = $2 ORDER BY seq"), no, toText(key))
	if err != nil {
		return 0, err
	}
	var kind, state string
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&kind, &data}, func() error {
		switch asks := kind == runlog.Asked; {
		case state == runlog.Answered && (!asks || !rejects(data)):
			return nil // the first answer stays
		case asks && state != "" && state != runlog.Asked:
			round++
		}
		state = kind
		return nil
	})
	return round, err
}

// rejects reports whether the Data of an Asked record says why an early answer was dropped.
func rejects(data json.RawMessage) bool {
	var d struct {
		Rejected json.RawMessage `json:"rejected"`
	}
	_ = json.Unmarshal(data, &d) // other Data rejects nothing
	return !slices.Contains([]string{"", `""`, "null"}, string(d.Rejected))
}
