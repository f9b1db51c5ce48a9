package sqlite

import (
	"errors"
	"fmt"
)

const (
	// applicationID tells the files of this package from others ("conv").
	applicationID = 0x636f6e76
	// version is that of the schema, kept as the user_version of a file.
	version = 4
)

// askKinds is the condition of the indexes log_asks and log_asks_name. With IN every
// insert would make a table of the four.
const askKinds = "(kind = 'asked' OR kind = 'answered' OR kind = 'expired' OR kind = 'withdrawn')"

// inboxTable has the addresses of all letters. Letters that were taken have no data.
const inboxTable = `
	CREATE TABLE inbox(
		run TEXT NOT NULL, key TEXT NOT NULL, round INTEGER NOT NULL,
		taken INTEGER NOT NULL, expired INTEGER NOT NULL,
		head BLOB NOT NULL, data TEXT, UNIQUE(run, key, round));
	CREATE INDEX inbox_open ON inbox(run, key, round) WHERE taken = 0;`

// textIndex has all that a search for a text looks at, in the order of lists.
const textIndex = "CREATE INDEX runs_text ON runs(started_at DESC, run, flow, text);"

// A record's id is the number of its run and its Seq, so that one tree holds the
// log. Append keeps gaps out of it, in the statement that inserts: a trigger costs
// every record two microseconds. The table runs has what lists show, but for the
// time of the last record and its Seq. What head is says [columns]. The view records
// is for people.
var schema = `
	CREATE TABLE log(
		id INTEGER PRIMARY KEY CHECK(id >= 0), -- runs.no << 32 | seq
		kind TEXT NOT NULL, name TEXT NOT NULL,
		at INTEGER NOT NULL, -- nanoseconds since 1970
		head BLOB NOT NULL, data TEXT);
	CREATE INDEX log_asks ON log(id) WHERE ` + askKinds + `;
	CREATE INDEX log_asks_name ON log(name) WHERE ` + askKinds + `;

	CREATE TABLE runs(
		no INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, started_at INTEGER NOT NULL,
		flow TEXT NOT NULL, parent TEXT NOT NULL, owner TEXT NOT NULL,
		status TEXT NOT NULL, err TEXT NOT NULL, ended INTEGER NOT NULL,
		head BLOB NOT NULL, labels TEXT NOT NULL, -- JSON
		text TEXT NOT NULL DEFAULT ''); -- to search in
	CREATE INDEX runs_all ON runs(started_at DESC, run);
	CREATE INDEX runs_open ON runs(started_at DESC, run) WHERE ended = 0;
	CREATE INDEX runs_flow ON runs(flow, started_at DESC, run);
	CREATE INDEX runs_status ON runs(status, started_at DESC, run) WHERE status <> '';
	CREATE INDEX runs_owner ON runs(owner, started_at DESC, run) WHERE ended = 0;
	CREATE INDEX runs_parent ON runs(parent, started_at DESC, run) WHERE parent <> '';
	` + textIndex + `
	CREATE TABLE labels(no INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(no, name)) WITHOUT ROWID;
	CREATE INDEX labels_name ON labels(name, value);

	` + inboxTable + asksTable + `
	CREATE TABLE blobs(run TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, UNIQUE(run, hash));
	CREATE TABLE owners( -- the engines that have not left
		owner TEXT NOT NULL PRIMARY KEY,
		lock TEXT NOT NULL, -- the name of the file that its process has locked
		beat INTEGER NOT NULL, -- another number at each beat
		silence INTEGER NOT NULL) WITHOUT ROWID; -- nanoseconds after which it counts as dead

	CREATE VIEW records AS
		SELECT run, id & 0xffffffff AS seq, kind, name, at, log.data
		FROM runs JOIN log ON id BETWEEN no << 32 AND no << 32 | 0xffffffff;` +
	fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version)

// prepareFile sets up a connection to write to. It makes the tables of a new file, brings
// older ones up to date, and checks others. The cache of 4 MB holds the last pages of a thousand runs, and
// fits into that of a processor; the log is moved into the file every 8 MB instead of
// every 4, because many runs at once write many pages.
func prepareFile(c *conn, sync Sync) error {
	rows, err := c.all("PRAGMA journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode := as[string](rows[0][0]); mode != "wal" {
		return fmt.Errorf("its file system allows no write-ahead log (journal_mode is %s): give a path on a local disk", mode)
	}
	synchronous := [...]string{Full: "FULL", Normal: "NORMAL"}[sync]
	if err := c.exec("PRAGMA cache_size = -4000; PRAGMA wal_autocheckpoint = 2000; PRAGMA synchronous = " + synchronous); err != nil {
		return err
	}
	return c.transaction(func(*conn) error {
		rows, err := c.all(`SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)
			FROM pragma_user_version, pragma_application_id`)
		if err != nil {
			return err
		}
		switch v, id, tables := as[int64](rows[0][0]), as[int64](rows[0][1]), as[int64](rows[0][2]); {
		case v == 0 && id == 0 && tables == 0:
			return c.exec(schema)
		case id != applicationID:
			return errors.New("it is a SQLite file of another program: give the path of a new file")
		case v == 2 || v == 3:
			return c.upgrade(v)
		case v != version:
			return fmt.Errorf("it has version %d, this program knows version %d: use the program that made it", v, version)
		}
		return c.exec("DELETE FROM owners WHERE owner IS NULL") // nothing, but fails now if the file is read-only
	})
}
