package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	insertListing = "INSERT INTO runs(owner, status, err, ended, head, labels, text, run, started_at, flow, parent) VALUES(?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?, ?, ?, ?)"
	updateListing = "UPDATE runs SET (owner, status, err, ended, head, labels, text) = (?, ?, ?, ?, ?, CAST(? AS TEXT), ?) WHERE run = ?"
	selectListing = listingColumns + ", run FROM runs WHERE run = ?"
	insertLabels  = "INSERT INTO labels SELECT no, key, value FROM runs, json_each(runs.labels) WHERE run = ?"
	// renewListing is for a Started record that is not the first one.
	renewListing = "UPDATE runs SET (flow, parent) = (?2, ?3) WHERE run = ?1; DELETE FROM labels WHERE no = " + runNumber

	listingColumns = "SELECT ended, CAST(runs.head AS TEXT), CAST(runs.labels AS BLOB)"

	// selectRuns begins a list. CROSS JOIN keeps the order of the tables, and with it
	// that of the index; the last record comes by its key. A text is looked up in an
	// index that has all that is searched.
	selectRuns  = listingColumns + ", run, last.id & 0xffffffff, last.at FROM runs"
	byText      = " INDEXED BY runs_text"
	lastRecords = ` CROSS JOIN log last ON last.id = (SELECT max(id) FROM log WHERE id BETWEEN no << 32 AND no << 32 | 0xffffffff)
		WHERE started_at <= ? AND (started_at < ? OR run > ?)`
	newestFirst = " ORDER BY started_at DESC, run"
)

// putListing takes r into the list of runs.
func (c *conn) putListing(r *runlog.Record) error {
	var l runlog.Listing
	if r.Seq > 0 {
		rows, err := c.all(selectListing, r.Run)
		if err != nil || len(rows) == 0 {
			return err // r conflicts if there is no run
		}
		if l, err = c.listing(rows[0]); err != nil {
			return err
		}
	}
	if err := l.Add(*r); err != nil {
		return err
	}
	labels, err := json.Marshal(l.Labels)
	if err != nil {
		return err
	}
	entry := runlog.Record{
		Run: l.Run, N: int64(l.Version), Branch: l.Parent, Name: l.Flow, Hash: l.Owner, Kind: l.Status, Blob: l.Err, Data: labels,
	}
	if l.Ended {
		entry.Seq = 1
	}
	at, _ := nanos(l.Started)
	args := []driver.Value{l.Owner, l.Status, l.Err, l.Ended, c.head(&entry, at), labels, l.SearchText(), l.Run}
	if r.Seq > 0 && r.Kind != runlog.Started {
		return c.exec(updateListing, args...)
	}
	if r.Seq > 0 {
		return errors.Join(c.exec(updateListing, args...), c.exec(renewListing, l.Run, l.Flow, l.Parent), c.exec(insertLabels, l.Run), c.exec(renewAsks, l.Run, l.Flow))
	}
	err = c.exec(insertListing, append(args, at, l.Flow, l.Parent)...)
	if err == nil && len(l.Labels) > 0 {
		err = c.exec(insertLabels, l.Run)
	}
	return err
}

// listing reads a row that begins as that of selectListing.
func (c *conn) listing(row []driver.Value) (l runlog.Listing, err error) {
	run := as[string](row[3])
	r, ok := c.record(run, row)
	if !ok {
		return l, damaged(run, "entry in the list")
	}
	l = runlog.Listing{
		Run: run, Version: int(r.N), Parent: r.Branch, Flow: r.Name, Owner: r.Hash, Status: r.Kind, Err: r.Blob,
		Ended: r.Seq != 0, Started: r.At,
	}
	return l, json.Unmarshal(r.Data, &l.Labels)
}

// List implements [runlog.Store].
func (s *Store) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	sql, args := listOf(q)
	return pages(q.Limit, func(last *runlog.Listing, add func(runlog.Listing, int) error) error {
		at, run := int64(math.MaxInt64), q.After
		switch {
		case last != nil:
			at, _ = nanos(last.Started)
			run = last.Run
		case run != "":
			rows, err := s.all(ctx, "SELECT started_at FROM runs WHERE run = ?", run)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("sqlite: %w: %q", runlog.ErrNoRun, run)
			}
			at = as[int64](rows[0][0])
		}
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			l, err := c.listing(row)
			if err != nil {
				return err
			}
			l.Next, l.Changed = as[int64](row[4])+1, fromNanos(as[int64](row[5]))
			if q.Text != "" && !q.Selects(l) { // the text went over two fields
				return nil
			}
			return add(l, len(l.Err))
		}, sql, append([]driver.Value{at, at, run}, args...)...)
	})
}

// listOf returns the statement that lists what q selects, and its arguments behind those
// of After.
func listOf(q runlog.Query) (sql string, args []driver.Value) {
	where, args := conditions(q)
	sql = selectRuns
	if q.Text != "" && q.Run == "" && q.Owner == "" && q.Parent == "" {
		sql += byText
	}
	return sql + lastRecords + where + newestFirst, args
}

// conditions are those of q but for After and Limit. That of Text selects a few runs more.
func conditions(q runlog.Query) (where string, args []driver.Value) {
	add := func(asked bool, condition string, values ...driver.Value) {
		if asked {
			where += " AND " + condition
			args = append(args, values...)
		}
	}
	add(q.Open, "ended = 0")
	add(q.Run != "", "run = ?", q.Run)
	add(q.Flow != "", "flow = ?", q.Flow)
	add(q.Owner != "", "owner = ?", q.Owner)
	add(q.Status != "", "status = ? AND status <> ''", q.Status) // the index has no others
	add(q.Parent != "", "parent = ? AND parent <> ''", q.Parent)
	name, value, valued := strings.Cut(q.Label, "=")
	add(valued, "no IN (SELECT no FROM labels WHERE name = ? AND value = ?)", name, value)
	add(!valued && name != "", "no IN (SELECT no FROM labels WHERE name = ?)", name)
	add(q.Text != "", "instr(text, ?)", runlog.LowerASCII(q.Text))
	before, ok := nanos(q.Before)
	add(ok && before != noTime, "last.at < ?", before)
	add(!ok && q.Before.Year() < 1970, "FALSE")
	return where, args
}

const deleteRun = "DELETE FROM log WHERE " + ofRun + "; DELETE FROM labels WHERE no = " + runNumber + "; " + deleteAsks + `;
	DELETE FROM runs WHERE run = ?1; DELETE FROM inbox WHERE run = ?1; DELETE FROM blobs WHERE run = ?1`

// Delete implements [runlog.Deleter]. The file does not shrink: its space is
// used again.
func (s *Store) Delete(ctx context.Context, runs ...string) error {
	return s.change(ctx, func(c *conn) (err error) {
		for i := 0; i < len(runs) && err == nil; i++ {
			err = c.exec(deleteRun, runs[i], int64(0))
		}
		return err
	})
}
