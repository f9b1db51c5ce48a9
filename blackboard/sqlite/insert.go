package sqlite

import (
	"database/sql/driver"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

// insertNext puts a record behind the one before it; if that is not there, or has
// ended the run, the id is -1, which the table refuses. insertAt puts a record where
// it is known to belong. Parameters with numbers would cost the driver a search
// each.
const (
	insertNext = insertLog + `ifnull((SELECT id + 1 FROM log
			WHERE id = (SELECT no FROM runs WHERE run = ?) << 32 | ? AND kind <> 'ended'), -1)` + insertRest
	insertAt   = insertLog + "?" + insertRest
	insertLog  = "INSERT OR ROLLBACK INTO log(id, kind, branch, n, name, hash, at, data, blob, sum) VALUES("
	insertRest = ", ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?)"
)

// place is where a record of the same transaction is. The zero place is none.
type place struct {
	run     string
	seq, id int64
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
	if last.id != 0 && last.run == r.Run && last.seq+1 == r.Seq {
		sql, args = insertAt, append(c.args[:0], last.id+1)
	}
	var n driver.Value
	if r.N != 0 {
		n = r.N
	}
	args = append(
		args, r.Kind, textOrNull(r.Branch), n, textOrNull(r.Name), textOrNull(r.Hash),
		at, bytesOrNull(r.Data), textOrNull(r.Blob), c.checksum(r, at),
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
	return fmt.Errorf("%w: record %d of run %q is taken, leaves a gap, or the run has ended", blackboard.ErrConflict, r.Seq, r.Run)
}
