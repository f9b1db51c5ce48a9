package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// version is a change of the tables.
type version struct {
	sql string

	// oldest is the version of the oldest programs that can still use the tables
	// afterwards. A change that only adds keeps it.
	oldest int
}

// versions[i] turns tables of version i into those of version i+1; an empty schema
// gets all of them. In the SQL an @ marks the name of a table, and a # that of an
// index.
//
// A record's key is the number of its run and its Seq. The table runs has what lists
// show and, in next, the Seq of the run's next record: the first writer to increase it
// wins. It also counts, in rev, the changes that matter to letters.
var versions = []version{{oldest: 1, sql: `
	CREATE TABLE @runs(
		no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		next bigint NOT NULL, changed_at bigint NOT NULL, -- nanoseconds since 1970
		started_at bigint NOT NULL, version bigint NOT NULL, rev bigint NOT NULL,
		ended bool NOT NULL, canceled bool NOT NULL,
		run text COLLATE "C" NOT NULL UNIQUE, flow text COLLATE "C" NOT NULL,
		parent text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
		status text COLLATE "C" NOT NULL, err text COLLATE "C" NOT NULL,
		labels text -- JSON
	) WITH (fillfactor = 70); -- leaves room to change next in place
	CREATE INDEX #runs_all ON @runs(started_at DESC, run);
	CREATE INDEX #runs_open ON @runs(started_at DESC, run) WHERE NOT ended;
	CREATE INDEX #runs_flow ON @runs(flow, started_at DESC, run);
	CREATE INDEX #runs_status ON @runs(status, started_at DESC, run) WHERE status <> '';
	CREATE INDEX #runs_owner ON @runs(owner, started_at DESC, run) WHERE NOT ended;
	CREATE INDEX #runs_parent ON @runs(parent, started_at DESC, run) WHERE parent <> '';
	CREATE TABLE @labels(no bigint NOT NULL, name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL);
	CREATE INDEX #labels_no ON @labels(no);
	CREATE INDEX #labels_name ON @labels(left(name, 100), left(value, 100)); -- the whole may be too long for an index

	CREATE TABLE @log(
		no bigint NOT NULL, seq bigint NOT NULL, n bigint NOT NULL, at bigint NOT NULL,
		sum integer NOT NULL, -- CRC-32C of all of the record
		kind text COLLATE "C" NOT NULL, branch text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
		hash text COLLATE "C" NOT NULL, data bytea, blob text COLLATE "C" NOT NULL,
		PRIMARY KEY(no, seq));
	CREATE INDEX #log_asks ON @log(no, left(name, 100), seq) WHERE ` + askKinds + `;

	CREATE TABLE @letters(
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, no bigint NOT NULL, sum integer NOT NULL,
		expired bool NOT NULL, key text COLLATE "C" NOT NULL, data bytea);
	CREATE INDEX #letters_no ON @letters(no);
	CREATE TABLE @blobs(run text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL, data bytea, PRIMARY KEY(run, hash));
	CREATE TABLE @owners( -- the engines that have not left
		owner text COLLATE "C" PRIMARY KEY,
		lock bigint NOT NULL, -- the advisory lock that its process holds
		beat bigint NOT NULL, -- another number at each beat
		silence bigint NOT NULL, -- nanoseconds after which it counts as dead
		beat_at timestamptz NOT NULL); -- to tidy up by

	CREATE VIEW @records AS -- for people
		SELECT run, seq, kind, branch, n, name, hash, to_timestamp(at / 1e9) AS at, encode(data, 'escape') AS data, blob
		FROM @runs JOIN @log USING (no);`}}

// statements are this package's SQL with the names of the store's tables.
type statements struct {
	names  *strings.Replacer
	schema string
}

func newStatements(schema, prefix string) *statements {
	return &statements{schema: schema, names: strings.NewReplacer("@", pgx.Identifier{schema}.Sanitize()+"."+prefix, "#", prefix)}
}

// of returns sql with the names of the tables.
func (q *statements) of(sql string) string { return q.names.Replace(sql) }

// number returns a number that belongs to the tables, for locks and channels.
func (q *statements) number(what string) int64 {
	hash := sha256.Sum256([]byte(q.of(what + " @")))
	return int64(binary.LittleEndian.Uint64(hash[:]))
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
		if err != nil || from >= len(versions) {
			return err
		}
		if from == 0 {
			if err := s.makeSchema(ctx, tx); err != nil {
				return err
			}
		}
		for v, next := range versions[from:] {
			if _, err := tx.Exec(ctx, s.sql.of(next.sql), pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("bring the tables from version %d to %d: %w", from+v, from+v+1, err)
			}
			if _, err := tx.Exec(ctx, s.sql.of("INSERT INTO @versions(version, oldest, at) VALUES($1, $2, now())"), from+v+1, next.oldest); err != nil {
				return err
			}
		}
		return nil
	})
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
