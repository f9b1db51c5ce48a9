package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
)

// asksTable has, for each key of an open run, the last change that counts (see
// [runlog.AskChange]). Its index has all that queries of open questions look at, so that
// a page reads nothing else before it knows which questions it has.
const asksTable = `
	CREATE TABLE asks(
		no INTEGER NOT NULL, key TEXT NOT NULL,
		opens INTEGER NOT NULL, final INTEGER NOT NULL,
		seq INTEGER NOT NULL, at INTEGER NOT NULL, -- of the record
		run TEXT NOT NULL, flow TEXT NOT NULL, -- as in runs
		text TEXT NOT NULL, -- to search in
		PRIMARY KEY(no, key)) WITHOUT ROWID;
	CREATE INDEX asks_open ON asks(at, run, seq, flow, text) WHERE opens = 1;`

const (
	// putAsk keeps a change if it counts: runlog.AskChange.Counts in SQL.
	putAsk = `INSERT INTO asks(no, key, opens, final, seq, at, run, flow, text)
		SELECT no, ?, ?, ?, ?, ?, run, flow, ? FROM runs WHERE run = ?
		ON CONFLICT(no, key) DO UPDATE SET (opens, final, seq, at, text) = (excluded.opens, excluded.final, excluded.seq, excluded.at, excluded.text)
		WHERE final = 0 OR ?`
	renewAsks  = "UPDATE asks SET flow = ?2 WHERE no = " + runNumber
	deleteAsks = "DELETE FROM asks WHERE no = " + runNumber

	selectOpenAsks = `SELECT log.id & 0xffffffff, CAST(log.head AS TEXT), CAST(log.data AS BLOB),
			ended, CAST(runs.head AS TEXT), CAST(runs.labels AS BLOB), runs.run FROM `
	askedRecords = ` CROSS JOIN runs ON runs.no = asks.no CROSS JOIN log ON log.id = asks.no << 32 | asks.seq
		WHERE opens = 1 AND (asks.at, asks.run, asks.seq) > (?, ?, ?)`
	oldestFirst = " ORDER BY asks.at, asks.run, asks.seq"

	allAsks     = "asks"
	asksByLabel = "labels CROSS JOIN asks ON asks.no = labels.no"

	// fewRuns is how many runs may have a label so that their questions are looked up run
	// by run, and sorted. A label of more is met soon among all questions in their order.
	fewRuns = 2000
)

// putAsk takes what r says of a question into the index.
func (c *conn) putAsk(r *runlog.Record) error {
	at, _ := nanos(r.At)
	change := runlog.ChangeOf(*r)
	text := ""
	if change.Opens {
		text = change.SearchText()
	}
	return c.exec(putAsk, change.Key, change.Opens, change.Final, r.Seq, at, text, r.Run, change.Reopens)
}

// OpenAsks implements [runlog.OpenQuestions].
func (s *Store) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	from := allAsks
	return pages(q.Limit, func(last *runlog.OpenAsk, add func(runlog.OpenAsk, int) error) (err error) {
		after := q.After
		if last != nil {
			after = last.Place()
		} else if from, err = s.asksOf(ctx, q.Label); err != nil {
			return err
		}
		at, ok := nanos(after.At)
		if !ok && after.At.After(maxTime) {
			at = math.MaxInt64
		}
		sql, args := openAsks(q, from)
		return s.rows(ctx, func(c *conn, row []driver.Value) error {
			l, err := c.listing(row[3:])
			if err != nil {
				return err
			}
			r, err := c.logged(l.Run, row)
			a := runlog.OpenAsk{Record: r, Flow: l.Flow, Labels: l.Labels}
			if err != nil || !q.Selects(&a) {
				return err
			}
			return add(a, len(r.Data))
		}, sql, append([]driver.Value{at, after.Run, after.Seq}, args...)...)
	})
}

// asksOf returns where to look for the questions of runs with a label: allAsks, or
// asksByLabel if few runs have it.
func (s *Store) asksOf(ctx context.Context, label string) (from string, err error) {
	if label == "" {
		return allAsks, nil
	}
	sql, args := labelIs(label)
	rows, err := s.all(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM labels WHERE %s LIMIT %d)", sql, fewRuns+1), args...)
	if err != nil || as[int64](rows[0][0]) > fewRuns {
		return allAsks, err
	}
	return asksByLabel, nil
}

// labelIs is the condition of a row of labels.
func labelIs(label string) (sql string, args []driver.Value) {
	name, value, valued := strings.Cut(label, "=")
	if !valued {
		return "labels.name = ?", []driver.Value{name}
	}
	return "labels.name = ? AND labels.value = ?", []driver.Value{name, value}
}

// openAsks is the statement that finds what q selects, and a few more where a text goes
// over two fields, and its arguments behind those of After. from is allAsks or asksByLabel.
func openAsks(q runlog.AskQuery, from string) (sql string, args []driver.Value) {
	add := func(asked bool, condition string, values ...driver.Value) {
		if asked {
			sql += " AND " + condition
			args = append(args, values...)
		}
	}
	label, values := labelIs(q.Label)
	if from == allAsks {
		label = "EXISTS(SELECT 1 FROM labels WHERE labels.no = asks.no AND " + label + ")"
	}
	add(q.Run != "", "asks.no = (SELECT no FROM runs WHERE run = ?)", q.Run)
	add(q.Flow != "", "asks.flow = ?", q.Flow)
	add(q.Text != "", "instr(asks.text, ?)", runlog.LowerASCII(q.Text))
	add(q.Label != "", label, values...)
	before, ok := nanos(q.Before)
	add(ok && before != noTime, "asks.at < ?", before)
	return selectOpenAsks + from + askedRecords + sql + oldestFirst, args
}
