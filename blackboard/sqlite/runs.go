package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/convene-go/convene/blackboard"
)

// runColumns are what the table runs has of a Listing, and their checksum.
const runColumns = "run, started_at, flow, version, parent, owner, labels, status, err, ended, run_sum"

const (
	insertRunSQL = "INSERT INTO runs(" + runColumns + ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	insertLabel  = "INSERT INTO labels(no, name, value) VALUES(?, ?, ?)"
	selectRun    = "SELECT " + runColumns + " FROM runs WHERE run = ?"
	updateRunSQL = "UPDATE runs SET owner = ?, status = ?, err = ?, ended = ?, run_sum = ? WHERE run = ?"
)

// insertRun gives the run of a first record its number, and returns the place before
// the record.
func (c *conn) insertRun(first *blackboard.Record) (place, error) {
	at, err := nanosOf(first)
	if err != nil {
		return place{}, err
	}
	var l blackboard.Listing
	if err := l.Add(*first); err != nil {
		return place{}, err
	}
	var labels driver.Value
	if len(l.Labels) > 0 {
		b, err := json.Marshal(l.Labels)
		if err != nil {
			return place{}, err
		}
		labels = string(b)
	}
	row := []driver.Value{l.Run, at, l.Flow, int64(l.Version), l.Parent, l.Owner, labels, l.Status, l.Err, l.Ended}
	no, err := c.insertRow(insertRunSQL, append(row, c.rowChecksum(row))...)
	if extendedCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return place{}, conflict(first)
	}
	for name, value := range l.Labels {
		if err == nil {
			_, err = c.run(insertLabel, no, name, value)
		}
	}
	return place{l.Run, -1, no<<32 - 1}, err
}

// updateRun takes a later listed record into the list of runs.
func (c *conn) updateRun(r *blackboard.Record) error {
	row, err := c.first(selectRun, r.Run)
	if err != nil || row == nil {
		return err
	}
	l, err := c.listing(row)
	if err != nil {
		return err
	}
	if err := l.Add(*r); err != nil {
		return err
	}
	row[5], row[7], row[8], row[9] = l.Owner, l.Status, l.Err, l.Ended
	_, err = c.run(updateRunSQL, row[5], row[7], row[8], row[9], c.rowChecksum(row[:10]), l.Run)
	return err
}

// listing reads runColumns, and checks them.
func (c *conn) listing(row []driver.Value) (blackboard.Listing, error) {
	l := blackboard.Listing{
		Run: text(row[0]), Started: fromNanos(integer(row[1])), Flow: text(row[2]), Version: int(integer(row[3])),
		Parent: text(row[4]), Owner: text(row[5]), Status: text(row[7]), Err: text(row[8]), Ended: integer(row[9]) != 0,
	}
	if c.rowChecksum(row[:10]) != integer(row[10]) {
		return l, damaged(l.Run, "entry in the list")
	}
	if labels := text(row[6]); labels != "" {
		if err := json.Unmarshal([]byte(labels), &l.Labels); err != nil {
			return l, fmt.Errorf("labels of run %q: %w", l.Run, err)
		}
	}
	return l, nil
}

// Delete implements [blackboard.Deleter]. The file does not shrink: its space is
// used again.
func (s *Store) Delete(ctx context.Context, runs ...string) error {
	return s.change(ctx, func(c *conn) error {
		return c.transaction(func() error {
			for _, run := range runs {
				if err := c.delete(run); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (c *conn) delete(run string) error {
	for _, sql := range []string{
		"DELETE FROM log WHERE " + ofRun, // as long as the run has a number
		"DELETE FROM labels WHERE no = " + runNumber,
		"DELETE FROM runs WHERE run = ?",
		"DELETE FROM letters WHERE run = ?",
		"DELETE FROM blobs WHERE run = ?",
	} {
		if _, err := c.run(sql, run); err != nil {
			return err
		}
	}
	return nil
}
