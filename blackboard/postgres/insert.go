package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

// The statements that write records have three steps: parts is one row for each run;
// fence moves the end of each run's log, if it is where the writer expects it; and the
// records are inserted under the run's number, which fence returns. For a run whose log
// ends elsewhere it is NULL, which the column refuses: then nothing is stored.
const (
	insertLog = `INSERT INTO @log(no, seq, n, at, sum, kind, branch, name, hash, data, blob, indexed)
		SELECT fence.no, r.seq, r.n, r.at, r.sum, r.kind, r.branch, r.name, r.hash, r.data, r.blob, r.` + askKinds + `
		FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::text[])
			AS r(part, seq, n, at, sum, kind, branch, name, hash, data, blob)
		LEFT JOIN fence ON fence.part = r.part`

	// insertOne is the same for one record that changes nothing else, twice as fast.
	insertOne = `WITH fence AS (UPDATE @runs SET next = $2 + 1, changed_at = $4 WHERE run = $1 AND next = $2 AND NOT ended RETURNING no)
		INSERT INTO @log(no, seq, n, at, sum, kind, branch, name, hash, data, blob)
		SELECT no, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM fence`

	// insertPlain is for records that change nothing else.
	insertPlain = `WITH fence AS (
		UPDATE @runs SET next = p.next, changed_at = p.at
		FROM unnest($12::text[], $13::int8[], $14::int8[], $15::int8[]) WITH ORDINALITY AS p(run, first, next, at, part)
		WHERE @runs.run = p.run AND @runs.next = p.first AND NOT @runs.ended
		RETURNING no, part) ` + insertLog

	insertIndexed = `WITH parts AS MATERIALIZED (SELECT * FROM
			unnest($12::text[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bool[], $25::text[])
			WITH ORDINALITY AS p(run, first, next, at, started_at, version, flow, parent, owner, labels, status, err, ended, text, part)),
		born AS (
			INSERT INTO @runs(run, next, changed_at, started_at, version, flow, parent, owner, labels, status, err, ended, text)
			SELECT run, next, at, started_at, version, flow, parent, owner, labels, status, err, ended, text FROM parts WHERE first = 0
			ON CONFLICT DO NOTHING RETURNING no, run),
		moved AS (
			UPDATE @runs r SET next = p.next, changed_at = p.at, version = coalesce(p.version, r.version), flow = coalesce(p.flow, r.flow),
				parent = coalesce(p.parent, r.parent), owner = coalesce(p.owner, r.owner),
				labels = CASE WHEN p.flow IS NULL THEN r.labels ELSE p.labels END,
				status = coalesce(p.status, r.status), err = coalesce(p.err, r.err), ended = p.ended, text = coalesce(p.text, r.text)
			FROM parts p WHERE p.first > 0 AND r.run = p.run AND r.next = p.first AND NOT r.ended
			RETURNING r.no, r.run),
		fence AS (SELECT no, part FROM (TABLE born UNION ALL TABLE moved) f JOIN parts USING (run)) ` + insertLog

	deleteLabels = "DELETE FROM @labels USING @runs r WHERE r.no = @labels.no AND r.run = ANY($1)"
	insertLabels = `INSERT INTO @labels(no, name, value)
		SELECT r.no, l.name, l.value FROM unnest($1::text[], $2::text[], $3::text[]) AS l(run, name, value) JOIN @runs r USING (run)`
)

// write stores b, all or nothing, in one transaction and one round trip.
func (s *Store) write(ctx context.Context, b *bundle) (err error) {
	switch {
	case b.touchesIndexes():
		batch := s.limits()
		batch.Queue(s.sql.of(insertIndexed), append(b.columns(), b.changes()...)...)
		s.queueLabels(batch, b)
		s.queueAsks(batch, b)
		err = s.send(ctx, batch).Close()
	case len(b.rows) == 1:
		return s.writeOne(ctx, &b.rows[0])
	default:
		_, err = s.cfg.Pool.Exec(ctx, s.sql.of(insertPlain), append(b.columns(), b.ends()...)...)
	}
	if code(err) == notNullViolation {
		err = b.conflict()
	}
	return err
}

// writeOne stores one record that changes nothing else.
func (s *Store) writeOne(ctx context.Context, r *row) error {
	tag, err := s.cfg.Pool.Exec(ctx, s.sql.of(insertOne), toText(r.Run), r.Seq, r.N, r.at, checksum(&r.Record, r.at),
		toText(r.Kind), toText(r.Branch), toText(r.Name), toText(r.Hash), toBytes(r.Data), toText(r.Blob))
	if err == nil && tag.RowsAffected() == 0 {
		err = conflict(r.Run, r.Seq)
	}
	return err
}

// columns are the parameters of insertLog.
func (b *bundle) columns() []any {
	n := len(b.rows)
	numbers := make([]int64, 4*n)
	parts, seqs, ns, ats := numbers[:n], numbers[n:2*n], numbers[2*n:3*n], numbers[3*n:]
	texts := make([]string, 5*n)
	kinds, branches, names, hashes, blobs := texts[:n], texts[n:2*n], texts[2*n:3*n], texts[3*n:4*n], texts[4*n:]
	sums, data := make([]int32, n), make([][]byte, n)
	for i := range b.rows {
		r := &b.rows[i]
		parts[i], seqs[i], ns[i], ats[i], sums[i] = r.part, r.Seq, r.N, r.at, checksum(&r.Record, r.at)
		kinds[i], branches[i], names[i] = toText(r.Kind), toText(r.Branch), toText(r.Name)
		hashes[i], blobs[i], data[i] = toText(r.Hash), toText(r.Blob), toBytes(r.Data)
	}
	return []any{parts, seqs, ns, ats, sums, kinds, branches, names, hashes, data, blobs}
}

// ends are the further parameters of insertPlain.
func (b *bundle) ends() []any {
	n := len(b.parts)
	runs, firsts, nexts, ats := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, p := range b.parts {
		runs[i], firsts[i], nexts[i], ats[i] = toText(p.run), p.first, p.next, p.at
	}
	return []any{runs, firsts, nexts, ats}
}

// changes are the further parameters of insertIndexed. NULL leaves a column as it
// was; of a new run none is NULL but labels.
func (b *bundle) changes() []any {
	n := len(b.parts)
	starteds, versions := make([]int64, n), make([]*int64, n)
	flows, parents, owners, labels := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	statuses, errs, ended, texts := make([]*string, n), make([]*string, n), make([]bool, n), make([]*string, n)
	text := func(s string) *string { return new(toText(s)) }
	for i, p := range b.parts {
		born := p.first == 0
		starteds[i], ended[i] = nanos(p.list.Started), p.ended
		if born || p.started {
			flows[i], parents[i], versions[i] = text(p.list.Flow), text(p.list.Parent), new(int64(p.list.Version))
			texts[i] = new(searchText((&runlog.Listing{Run: p.run, Flow: p.list.Flow, Labels: p.list.Labels}).SearchText()))
			if p.labels != nil {
				labels[i] = new(string(p.labels))
			}
		}
		if born || p.owned {
			owners[i] = text(p.list.Owner)
		}
		if born || p.stated {
			statuses[i], errs[i] = text(p.list.Status), text(p.list.Err)
		}
	}
	return append(b.ends(), starteds, versions, flows, parents, owners, labels, statuses, errs, ended, texts)
}

// queueLabels adds the statements that store the labels of started runs.
func (s *Store) queueLabels(batch *pgx.Batch, b *bundle) {
	var old, runs, names, values []string
	for _, p := range b.parts {
		if !p.started {
			continue
		}
		if p.first > 0 {
			old = append(old, toText(p.run))
		}
		for name, value := range p.list.Labels {
			runs, names, values = append(runs, toText(p.run)), append(names, toText(name)), append(values, toText(value))
		}
	}
	if len(old) > 0 {
		batch.Queue(s.sql.of(deleteLabels), old)
		batch.Queue(s.sql.of(renewAsks), old)
	}
	if len(runs) > 0 {
		batch.Queue(s.sql.of(insertLabels), runs, names, values)
	}
}

// isFault reports whether err is a fault of the records, or a locked run, and not of the
// server: then the transaction has stored nothing.
func isFault(err error) bool {
	c := code(err)
	return errors.Is(err, runlog.ErrConflict) || runlog.IsNever(err) || c == lockTimeout ||
		len(c) > 2 && slices.Contains([]string{"22", "23", "54"}, c[:2])
}
