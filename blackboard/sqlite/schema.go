package sqlite

import (
	"errors"
	"fmt"
)

// applicationID tells the files of this package from others ("conv").
const applicationID = 0x636f6e76

// versions[i] turns a file of version i into one of version i+1; a new file goes
// through all of them. The version of a file is its user_version.
//
// A record's id is the number of its run and its Seq, so that one tree holds the
// log. Append keeps gaps out of it, in the statement that inserts: a trigger costs
// every record two microseconds. The table runs has what lists show, but for the
// time of the last record and its Seq. The view records is for people.
var versions = []string{
	`CREATE TABLE log(
		id INTEGER PRIMARY KEY CHECK(id >= 0), -- runs.no << 32 | seq
		kind TEXT NOT NULL,
		branch TEXT, n INTEGER, name TEXT, hash TEXT, -- NULL is "" or 0
		at INTEGER NOT NULL, -- nanoseconds since 1970
		data TEXT, blob TEXT,
		sum INTEGER NOT NULL); -- CRC-32C of the other columns
	CREATE INDEX log_asks ON log(id) WHERE ` + askKinds + `;
	CREATE INDEX log_asks_name ON log(name) WHERE ` + askKinds + `;

	CREATE TABLE runs(
		no INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, started_at INTEGER NOT NULL,
		flow TEXT NOT NULL, version INTEGER NOT NULL, parent TEXT NOT NULL, owner TEXT NOT NULL,
		labels TEXT, -- JSON
		status TEXT NOT NULL, err TEXT NOT NULL, ended INTEGER NOT NULL,
		run_sum INTEGER NOT NULL, -- CRC-32C of run to ended
		canceled INTEGER NOT NULL DEFAULT 0);
	CREATE INDEX runs_all ON runs(started_at DESC, run);
	CREATE INDEX runs_open ON runs(started_at DESC, run) WHERE ended = 0;
	CREATE INDEX runs_flow ON runs(flow, started_at DESC, run);
	CREATE INDEX runs_status ON runs(status, started_at DESC, run) WHERE status <> '';
	CREATE INDEX runs_owner ON runs(owner, started_at DESC, run) WHERE ended = 0;
	CREATE INDEX runs_parent ON runs(parent, started_at DESC, run) WHERE parent <> '';
	CREATE TABLE labels(no INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(no, name)) WITHOUT ROWID;
	CREATE INDEX labels_name ON labels(name, value);

	CREATE TABLE letters(
		id INTEGER PRIMARY KEY, run TEXT NOT NULL, key TEXT NOT NULL, expired INTEGER NOT NULL,
		data TEXT, sum INTEGER NOT NULL, UNIQUE(run, key));
	CREATE TABLE blobs(id INTEGER PRIMARY KEY, run TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, UNIQUE(run, hash));
	CREATE TABLE owners( -- the engines that have not left
		owner TEXT NOT NULL PRIMARY KEY,
		lock TEXT NOT NULL, -- the name of the file that its process has locked
		beat INTEGER NOT NULL, -- another number at each beat
		silence INTEGER NOT NULL) WITHOUT ROWID; -- nanoseconds after which it counts as dead

	CREATE VIEW records AS
		SELECT run, id & 0xffffffff AS seq, kind, branch, n, name, hash, at, data, blob
		FROM runs JOIN log ON id BETWEEN no << 32 AND no << 32 | 0xffffffff;`,
}

// migrate brings a file up to date in one transaction. Processes that do the same
// at once wait, and find nothing left to do.
func migrate(c *conn, versions []string) error {
	if err := checkWAL(c); err != nil {
		return err
	}
	return c.transaction(func() error {
		from, err := version(c, len(versions))
		if err != nil {
			return err
		}
		if from == len(versions) { // changes nothing, but fails now if the file is read-only
			return c.script("DELETE FROM owners WHERE owner IS NULL")
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
// One above newest is an error.
func version(c *conn, newest int) (int, error) {
	row, err := c.first(`SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)
		FROM pragma_user_version, pragma_application_id`)
	if err != nil {
		return 0, err
	}
	switch v, id, tables := integer(row[0]), integer(row[1]), integer(row[2]); {
	case id != applicationID && (id != 0 || v != 0 || tables != 0):
		return 0, errors.New("it is a SQLite file of another program: give the path of a new file")
	case v > int64(newest):
		return 0, fmt.Errorf("it has version %d, this program knows version %d: use a newer program", v, newest)
	default:
		return int(v), nil
	}
}

// checkWAL makes sure of the write-ahead log, which some file systems cannot have.
func checkWAL(c *conn) error {
	mode, err := c.first("PRAGMA journal_mode")
	if err == nil && text(mode[0]) != "wal" {
		err = fmt.Errorf("its file system allows no write-ahead log (journal_mode is %s): give a path on a local disk", mode[0])
	}
	return err
}
