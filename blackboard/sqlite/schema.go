package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
)

// applicationID tells the files of this package from others ("conv").
const applicationID = 0x636f6e76

// versions[i] turns a file of version i into one of version i+1; a new file goes
// through all of them. The version of a file is its user_version.
var versions = []string{
	`CREATE TABLE log(
		run TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL,
		branch TEXT, n INTEGER, name TEXT, hash TEXT, -- NULL is "" or 0
		at INTEGER NOT NULL, -- nanoseconds since 1970
		data TEXT,
		PRIMARY KEY(run, seq)) WITHOUT ROWID;`,

	// The list of runs, the inbox, blobs and leases. Nothing is appended to an ended run
	// before runs says that it is open again.
	`ALTER TABLE log ADD COLUMN blob TEXT;
	CREATE INDEX log_answered ON log(run, name) WHERE kind = 'answered';
	CREATE INDEX log_canceled ON log(run) WHERE kind = 'canceled';

	CREATE TABLE runs(run TEXT NOT NULL PRIMARY KEY, started_at INTEGER NOT NULL, ended INTEGER NOT NULL) WITHOUT ROWID;
	CREATE INDEX runs_all ON runs(started_at DESC, run);
	CREATE INDEX runs_open ON runs(started_at DESC, run) WHERE ended = 0;
	INSERT INTO runs SELECT first.run, first.at, last.kind = 'ended'
		FROM log first JOIN log last ON last.run = first.run
			AND last.seq = (SELECT max(seq) FROM log WHERE run = first.run)
		WHERE first.seq = 0;

	CREATE TABLE letters(id INTEGER PRIMARY KEY, run TEXT NOT NULL, key TEXT NOT NULL, data TEXT, UNIQUE(run, key));
	CREATE TABLE blobs(id INTEGER PRIMARY KEY, run TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, UNIQUE(run, hash));
	CREATE TABLE leases(name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;

	CREATE TRIGGER log_append BEFORE INSERT ON log
	WHEN new.seq <> 0 AND NOT EXISTS(
		SELECT 1 FROM log WHERE run = new.run AND seq = new.seq - 1
			AND (kind <> 'ended' OR EXISTS(SELECT 1 FROM runs WHERE run = new.run AND ended = 0)))
	BEGIN
		SELECT RAISE(ROLLBACK, 'the record leaves a gap, or the run has ended');
	END;`,

	// The log by numbers: a record's id is the number of its run and its Seq, so that
	// one tree holds all. Texts as the key need a second tree, or, WITHOUT ROWID, a page
	// of its own for every record of a kilobyte.
	//
	// Append keeps gaps out of the log, in the statement that inserts: a trigger costs
	// every record two microseconds. The view is for people.
	`DROP TRIGGER log_append;
	DROP INDEX log_answered;
	DROP INDEX log_canceled;
	DROP INDEX runs_all;
	DROP INDEX runs_open;
	ALTER TABLE log RENAME TO old_log;
	ALTER TABLE runs RENAME TO old_runs;

	CREATE TABLE runs(no INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, started_at INTEGER NOT NULL, ended INTEGER NOT NULL);
	CREATE INDEX runs_all ON runs(started_at DESC, run);
	CREATE INDEX runs_open ON runs(started_at DESC, run) WHERE ended = 0;
	INSERT INTO runs(run, started_at, ended) SELECT run, started_at, ended FROM old_runs ORDER BY started_at, run;

	CREATE TABLE log(
		id INTEGER PRIMARY KEY CHECK(id >= 0), -- runs.no << 32 | seq
		kind TEXT NOT NULL,
		branch TEXT, n INTEGER, name TEXT, hash TEXT, -- NULL is "" or 0
		at INTEGER NOT NULL, -- nanoseconds since 1970
		data TEXT, blob TEXT);
	INSERT INTO log
		SELECT runs.no << 32 | old.seq, kind, branch, n, name, hash, at, data, blob
		FROM runs CROSS JOIN old_log old ON old.run = runs.run
		ORDER BY runs.no, old.seq;
	DROP TABLE old_log;
	DROP TABLE old_runs;
	CREATE INDEX log_answered ON log(name) WHERE kind = 'answered';
	CREATE INDEX log_canceled ON log(kind) WHERE kind = 'canceled';
	CREATE VIEW records AS
		SELECT run, id & 0xffffffff AS seq, kind, branch, n, name, hash, at, data, blob
		FROM runs JOIN log ON id BETWEEN no << 32 AND no << 32 | 0xffffffff;`,
}

// migrate brings a file up to date in one transaction. Others that do the same at
// once wait, and find nothing left to do.
func migrate(c *conn) error {
	if err := checkWAL(c); err != nil {
		return err
	}
	return c.transaction(func() error {
		from, err := version(c)
		if err != nil {
			return err
		}
		if from == len(versions) { // changes nothing, but fails now if the file is read-only
			return c.script("DELETE FROM leases WHERE name IS NULL")
		}
		for v, sql := range versions[from:] {
			if err := c.script(sql); err != nil {
				return fmt.Errorf("bring it from version %d to %d: %w", from+v, from+v+1, err)
			}
		}
		return c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(versions)))
	})
}

// version returns the version of a file that this package made, 0 for an empty one.
func version(c *conn) (int, error) {
	v, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_master")
	switch {
	case err != nil:
		return 0, err
	case id != applicationID && (id != 0 || v != 0 || tables != 0):
		return 0, errors.New("it is a SQLite file of another program: give the path of a new file")
	case v > int64(len(versions)):
		return 0, fmt.Errorf("it has version %d, this program knows version %d: use a newer program", v, len(versions))
	}
	return int(v), nil
}

// checkWAL makes sure of the write-ahead log, which some file systems cannot have.
func checkWAL(c *conn) error {
	mode := ""
	err := c.rows(func(row []driver.Value) bool {
		mode = text(row[0])
		return false
	}, "PRAGMA journal_mode")
	if err == nil && mode != "wal" {
		err = fmt.Errorf("its file system allows no write-ahead log (journal_mode is %s): give a path on a local disk", mode)
	}
	return err
}
