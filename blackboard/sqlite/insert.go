package sqlite

import (
	"database/sql/driver"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

// insertNext puts a record behind the one before it; if that is not there, or is the
// end of a run that is not open again, the id is -1, which the table refuses.
// insertAt puts a record where it is known to belong. Parameters with numbers would
// cost the driver a search each.
const (
	insertNext = insertLog + `ifnull((SELECT id + 1 FROM log
			WHERE id = (SELECT no FROM runs WHERE run = ?) << 32 | ?
				AND (kind <> 'ended' OR EXISTS(SELECT 1 FROM runs WHERE no = id >> 32 AND ended = 0))), -1)` + insertRest
	insertAt   = insertLog + "?" + insertRest
	insertLog  = "INSERT OR ROLLBACK INTO log(id, kind, branch, n, name, hash, at, data, blob) VALUES("
	insertRest = ", ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?)"
)

// place is where a record of the same transaction is. The zero place is none.
type place struct {
	run     string
	seq, id int64
}

// precedes says whether r belongs behind the record at p.
func (p place) precedes(r *blackboard.Record) bool {
	return p.id != 0 && p.run == r.Run && p.seq+1 == r.Seq
}

// notable says whether the tables beside the log change with r.
func notable(r *blackboard.Record) bool {
	switch r.Kind {
	case blackboard.Ended, blackboard.Answered, blackboard.Canceled:
		return true
	}
	return r.Seq == 0
}

// insertNoted writes a record and what it means for the list of runs and the inbox.
// It returns its place, if another may follow.
func (c *conn) insertNoted(r *blackboard.Record, last place) (place, error) {
	if r.Seq == 0 {
		no, err := c.insertRun(r)
		if err != nil {
			return place{}, err
		}
		last = place{run: r.Run, seq: -1, id: no<<32 - 1}
	}
	at, err := c.insert(r, last)
	if err != nil {
		return place{}, err
	}
	switch r.Kind {
	case blackboard.Ended:
		at = place{}
		_, err = c.run("UPDATE runs SET ended = 1 WHERE run = ?", r.Run)
	case blackboard.Answered:
		_, err = c.run("DELETE FROM letters WHERE run = ? AND key = ? AND key <> ''", r.Run, r.Name)
	case blackboard.Canceled:
		_, err = c.run("DELETE FROM letters WHERE run = ? AND key = ''", r.Run)
	}
	return at, err
}

// insertRun gives the run of a first record its number.
func (c *conn) insertRun(first *blackboard.Record) (no int64, err error) {
	at, err := nanosOf(first)
	if err != nil {
		return 0, err
	}
	no, err = c.insertRow("INSERT INTO runs(run, started_at, ended) VALUES(?, ?, 0)", first.Run, at)
	if extendedCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return 0, conflict(first)
	}
	return no, err
}

// insert writes one record, behind last if it belongs there, and returns its place.
func (c *conn) insert(r *blackboard.Record, last place) (place, error) {
	at, err := nanosOf(r)
	if err != nil {
		return place{}, err
	}
	if r.Seq < 0 || r.Seq > maxSeq {
		return place{}, conflict(r)
	}
	sql, args := insertNext, append(c.args[:0], r.Run, r.Seq-1)
	if last.precedes(r) {
		sql, args = insertAt, append(c.args[:0], last.id+1)
	}
	var n driver.Value
	if r.N != 0 {
		n = r.N
	}
	args = append(
		args, r.Kind, textOrNull(r.Branch), n, textOrNull(r.Name), textOrNull(r.Hash),
		at, bytesOrNull(r.Data), textOrNull(r.Blob),
	)
	id, err := c.insertRow(sql, args...)
	clear(args)
	c.args = args
	switch extendedCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_CHECK:
		return place{}, conflict(r)
	}
	return place{r.Run, r.Seq, id}, err
}

func conflict(r *blackboard.Record) error {
	return fmt.Errorf("%w: record %d of run %q is taken or leaves a gap", blackboard.ErrConflict, r.Seq, r.Run)
}

// nanosOf is toNanos of r's time.
func nanosOf(r *blackboard.Record) (int64, error) {
	at, err := toNanos(r.At)
	if err != nil {
		return 0, fmt.Errorf("record %d of run %q: %w", r.Seq, r.Run, err)
	}
	return at, nil
}
