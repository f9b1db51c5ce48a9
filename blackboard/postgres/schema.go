package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/jackc/pgx/v5"
)

// versions returns all changes: versions()[i] turns tables of version i into those of
// version i+1; an empty schema gets all of them. In the SQL an @ marks the name of a
// table, and a # that of an index.
//
// A record's key is the number of its run and its Seq. The table runs has what lists
// show and, in next, the Seq of the run's next record: the first writer to increase it
// wins.
func versions() []version {
	return []version{{oldest: 1, sql: tables}, {oldest: 2, sql: inbox, then: rewriteLetters}, {oldest: 3, sql: asks, then: findAsks}}
}

const tables = `
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
		FROM @runs JOIN @log USING (no);`

// inbox gives each letter a round, and keeps its address when it was taken. Programs of
// version 1 remove letters, so they cannot share the tables: those that are running fail
// where they want to, because the table has another name.
const inbox = `
	DROP INDEX @letters_no;
	ALTER TABLE @letters RENAME TO #inbox;
	ALTER TABLE @inbox ADD COLUMN round bigint NOT NULL DEFAULT 0, ADD COLUMN taken bool NOT NULL DEFAULT false;
	CREATE UNIQUE INDEX #inbox_address ON @inbox(no, round, sha256(replace(key, '\', '\\')::bytea)); -- the key may be too long for an index
	CREATE INDEX #inbox_open ON @inbox(no) WHERE NOT taken;
	ALTER TABLE @runs DROP COLUMN rev, DROP COLUMN canceled;`

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
