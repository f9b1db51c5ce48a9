package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	selectRuns = `SELECT run, flow, version, parent, labels, owner, status, err, ended, started_at, changed_at, next
		FROM @runs runs WHERE started_at <= $1 AND (started_at < $1 OR run > $2)`
	newestFirst = " ORDER BY started_at DESC, run LIMIT $3"
)

// where is a condition.
type where struct {
	before int    // number of parameters before those of the condition
	sql    string // condition, "" or with AND before it
	args   []any  // values of its parameters
}

// and adds a condition, in which %d stands for the number of a value.
func (w *where) and(condition string, values ...any) {
	numbers := make([]any, len(values))
	for i, v := range values {
		w.args = append(w.args, v)
		numbers[i] = len(w.args) + w.before
	}
	w.sql += " AND " + fmt.Sprintf(condition, numbers...)
}

// List implements [runlog.Store].
func (s *Store) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	return func(yield func(runlog.Listing, error) bool) {
		at, err := s.after(ctx, q.After)
		if err != nil {
			yield(runlog.Listing{}, err)
			return
		}
		n := 0
		for l, err := range s.list(ctx, at, q.After, q.Limit, conditions(q)) {
			if err == nil && q.Text != "" && !q.Selects(l) { // the text went over two fields
				continue
			}
			if !yield(l, err) || err != nil {
				return
			}
			if n++; n == q.Limit {
				return
			}
		}
	}
}

// after returns when a run started; for run "", a time after all starts.
func (s *Store) after(ctx context.Context, run string) (int64, error) {
	at, found := int64(math.MaxInt64), run == ""
	if found {
		return at, nil
	}
	err := s.query(ctx, func(row pgx.Rows) error {
		found = true
		return row.Scan(&at)
	}, s.sql.of("SELECT started_at FROM @runs WHERE run = $1"), toText(run))
	if err == nil && !found {
		err = fmt.Errorf("%w: %q", runlog.ErrNoRun, run)
	}
	return at, err
}

// list yields the runs for which a condition holds, those after the given run, which
// started at the given time, in pages of limit at most; 0 or less: of any size.
func (s *Store) list(ctx context.Context, at int64, run string, limit int, w where) iter.Seq2[runlog.Listing, error] {
	run = toText(run)
	return pages(limit, func(p *page[runlog.Listing]) error {
		if p.last != nil {
			at, run = nanos(p.last.Started), toText(p.last.Run)
		}
		return s.query(ctx, func(row pgx.Rows) error {
			l, err := listing(row)
			if err == nil {
				p.add(l, len(l.Err))
			}
			return err
		}, s.sql.of(selectRuns+w.sql+newestFirst), append([]any{at, run, p.limit}, w.args...)...)
	})
}

// listing reads a row of selectRuns.
func listing(row pgx.Rows) (runlog.Listing, error) {
	var l runlog.Listing
	var labels []byte
	var started, changed int64
	err := row.Scan(&l.Run, &l.Flow, &l.Version, &l.Parent, &labels, &l.Owner, &l.Status, &l.Err, &l.Ended, &started, &changed, &l.Next)
	if err != nil {
		return l, err
	}
	for _, text := range []*string{&l.Run, &l.Flow, &l.Parent, &l.Owner, &l.Status, &l.Err} {
		*text = fromText(*text)
	}
	l.Started, l.Changed = fromNanos(started), fromNanos(changed)
	if labels != nil && json.Unmarshal(labels, &l.Labels) != nil {
		return l, damaged(l.Run, "labels")
	}
	return l, nil
}

// conditions are those of q but for After and Limit. That of Text selects a few runs more.
func conditions(q runlog.Query) where {
	w := where{before: 3}
	if q.Open {
		w.and("NOT ended")
	}
	for _, equal := range []struct{ condition, value string }{
		{"run = $%d", q.Run},
		{"flow = $%d", q.Flow},
		{"owner = $%d", q.Owner},
		{"status = $%d AND status <> ''", q.Status}, // the index has no others
		{"parent = $%d AND parent <> ''", q.Parent},
	} {
		if equal.value != "" {
			w.and(equal.condition, toText(equal.value))
		}
	}
	w.label(q.Label)
	if q.Text != "" { // the collation C changes the case of only ASCII
		w.and("("+hasText("text")+" OR err <> '' AND "+hasText("lower(err)")+")", searchText(runlog.LowerASCII(q.Text)))
	}
	if !q.Before.IsZero() {
		w.and("changed_at < $%d", nanos(q.Before))
	}
	return w
}

// label adds the condition of a label, "name" or "name=value"; "" is none.
func (w *where) label(label string) {
	name, value, valued := strings.Cut(label, "=")
	switch {
	case valued:
		w.and(`no IN (SELECT no FROM @labels WHERE left(name, 100) = left($%[1]d, 100) AND name = $%[1]d
			AND left(value, 100) = left($%[2]d, 100) AND value = $%[2]d)`, toText(name), toText(value))
	case name != "":
		w.and("no IN (SELECT no FROM @labels WHERE left(name, 100) = left($%[1]d, 100) AND name = $%[1]d)", toText(name))
	}
}
