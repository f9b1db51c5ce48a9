package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/convene-go/convene/blackboard"
)

// selectRuns begins a list. CROSS JOIN keeps the order of the tables, and with it
// that of the index; the last record comes by its key.
const (
	selectRuns = `SELECT ` + runColumns + `, last.id & 0xffffffff, last.at
		FROM runs CROSS JOIN log last ON last.id = (SELECT max(id) FROM log WHERE id BETWEEN no << 32 AND no << 32 | 0xffffffff)
		WHERE started_at <= ? AND (started_at < ? OR run > ?)`
	newestFirst = " ORDER BY started_at DESC, run"
	ownedOpen   = " AND ended = 0 AND owner = ?"
)

// List implements [blackboard.Store].
func (s *Store) List(ctx context.Context, q blackboard.Query) iter.Seq2[blackboard.Listing, error] {
	return func(yield func(blackboard.Listing, error) bool) {
		at := int64(math.MaxInt64)
		if q.After != "" {
			row, err := s.first(ctx, "SELECT started_at FROM runs WHERE run = ?", q.After)
			if err == nil && row == nil {
				err = fmt.Errorf("%w: %q", blackboard.ErrNoRun, q.After)
			}
			if err != nil {
				yield(blackboard.Listing{}, err)
				return
			}
			at = integer(row[0])
		}
		n := 0
		where, args := conditions(q)
		for l, err := range s.list(ctx, at, q.After, where, args...) {
			if !yield(l, err) || err != nil {
				return
			}
			if n++; n == q.Limit {
				return
			}
		}
	}
}

// list yields the runs for which the condition where holds, those behind the run that
// began at that time.
func (s *Store) list(ctx context.Context, at int64, run, where string, args ...driver.Value) iter.Seq2[blackboard.Listing, error] {
	return pages(func(p *page[blackboard.Listing]) error {
		at, run := at, run
		if p.last != nil {
			at, run = nanos(p.last.Started), p.last.Run
		}
		return s.read(ctx, func(c *conn) error {
			return c.rows(func(row []driver.Value) error {
				l, err := c.listing(row)
				if err != nil {
					return err
				}
				l.Next, l.Changed = integer(row[11])+1, fromNanos(integer(row[12]))
				return p.add(l, len(l.Err))
			}, p.limited(selectRuns+where+newestFirst), append([]driver.Value{at, at, run}, args...)...)
		})
	})
}

// conditions are those of q but for After and Limit.
func conditions(q blackboard.Query) (where string, args []driver.Value) {
	if q.Open {
		where = " AND ended = 0"
	}
	add := func(condition string, values ...driver.Value) {
		where += " AND " + condition
		args = append(args, values...)
	}
	for _, equal := range []struct{ condition, value string }{
		{"run = ?", q.Run},
		{"flow = ?", q.Flow},
		{"owner = ?", q.Owner},
		{"status = ? AND status <> ''", q.Status}, // the index has no others
		{"parent = ? AND parent <> ''", q.Parent},
	} {
		if equal.value != "" {
			add(equal.condition, equal.value)
		}
	}
	name, value, valued := strings.Cut(q.Label, "=")
	switch {
	case valued:
		add("no IN (SELECT no FROM labels WHERE name = ? AND value = ?)", name, value)
	case name != "":
		add("no IN (SELECT no FROM labels WHERE name = ?)", name)
	}
	if q.Text != "" {
		add(`(instr(lower(run), lower(?)) OR instr(lower(flow), lower(?)) OR instr(lower(err), lower(?))
			OR EXISTS(SELECT 1 FROM labels WHERE labels.no = runs.no AND instr(lower(value), lower(?))))`, q.Text, q.Text, q.Text, q.Text)
	}
	if !q.Before.IsZero() {
		add("last.at < ?", nanos(q.Before))
	}
	return where, args
}
