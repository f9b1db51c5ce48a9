package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

// asks adds an index of open questions: for each key of an open run the last change that
// counts (see [runlog.AskChange]). And it adds to runs what a text is searched in, but for
// err. Programs of version 2 do not keep these up, so the log takes no records about
// questions from those that are still running.
const asks = `
	CREATE TABLE @asks(
		no bigint NOT NULL, key bytea NOT NULL, -- SHA-256 of the key, which may be too long for an index
		opens bool NOT NULL, final bool NOT NULL, reopens bool NOT NULL,
		seq bigint NOT NULL, at bigint NOT NULL, -- of the record
		run text COLLATE "C" NOT NULL, flow text COLLATE "C" NOT NULL, -- as in runs
		text text COLLATE "C" NOT NULL, -- to search in
		PRIMARY KEY(no, key));
	CREATE INDEX #asks_open ON @asks(at, run, seq) WHERE opens;
	ALTER TABLE @log ADD COLUMN indexed bool NOT NULL DEFAULT false;
	ALTER TABLE @log ADD CONSTRAINT asks_are_indexed CHECK (indexed OR NOT (` + askKinds + `)) NOT VALID;
	ALTER TABLE @runs ADD COLUMN text text COLLATE "C" NOT NULL DEFAULT '';
	UPDATE @runs r SET text = CASE
		WHEN left(flow, 2) = '\x' OR EXISTS(SELECT 1 FROM @labels l WHERE l.no = r.no AND left(value, 2) = '\x') THEN '\x'
		ELSE lower(run || chr(10) || flow || coalesce((SELECT string_agg(chr(10) || value, '') FROM @labels l WHERE l.no = r.no), '') COLLATE "C") END`

const (
	// putAsks keeps changes that count: runlog.AskChange.Counts in SQL. No key is there twice.
	putAsks = `INSERT INTO @asks AS a(no, key, opens, final, reopens, seq, at, run, flow, text)
		SELECT r.no, c.key, c.opens, c.final, c.reopens, c.seq, c.at, r.run, r.flow, c.text
		FROM unnest($1::text[], $2::bytea[], $3::bool[], $4::bool[], $5::bool[], $6::int8[], $7::int8[], $8::text[])
			AS c(run, key, opens, final, reopens, seq, at, text) JOIN @runs r USING (run)
		ON CONFLICT(no, key) DO UPDATE SET opens = excluded.opens, final = excluded.final, reopens = excluded.reopens,
			seq = excluded.seq, at = excluded.at, text = excluded.text
		WHERE NOT a.final OR excluded.reopens`
	renewAsks  = "UPDATE @asks a SET flow = r.flow FROM @runs r WHERE r.no = a.no AND r.run = ANY($1)"
	deleteAsks = "DELETE FROM @asks a USING @runs r WHERE r.no = a.no AND r.run = ANY($1)"

	selectOpenAsks = `SELECT l.seq, l.n, l.at, l.sum, l.kind, l.branch, l.name, l.hash, l.data, l.blob, runs.run, runs.flow, runs.labels
		FROM (SELECT no, at, run, seq FROM @asks WHERE opens AND (at, run, seq) > ($1, $2, $3)`
	oldestFirst = ` ORDER BY at, run, seq LIMIT $4) a JOIN @runs runs USING (no) JOIN @log l ON l.no = a.no AND l.seq = a.seq
		ORDER BY a.at, a.run, a.seq`
)

// ask is a change of a question of a run.
type ask struct {
	runlog.AskChange
	run     string // ID of the run
	seq, at int64  // place of the record, and its nanos
}

func newAsk(r *runlog.Record, at int64) ask { return ask{runlog.ChangeOf(*r), r.Run, r.Seq, at} }

// searchText is a text to search in, or for, as a column holds it. Postgres has no zero
// bytes in texts.
func searchText(s string) string { return toText(strings.ReplaceAll(s, "\x00", "\n")) }

// askColumns are the parameters of putAsks.
func askColumns(asks []ask) []any {
	n := len(asks)
	runs, texts, keys := make([]string, n), make([]string, n), make([][]byte, n)
	opens, finals, reopens := make([]bool, n), make([]bool, n), make([]bool, n)
	seqs, ats := make([]int64, n), make([]int64, n)
	for i, a := range asks {
		key := sha256.Sum256([]byte(a.Key))
		runs[i], keys[i], seqs[i], ats[i] = toText(a.run), key[:], a.seq, a.at
		opens[i], finals[i], reopens[i] = a.Opens, a.Final, a.Reopens
		if a.Opens {
			texts[i] = searchText(a.SearchText())
		}
	}
	return []any{runs, keys, opens, finals, reopens, seqs, ats, texts}
}

// queueAsks adds the statements that take the records of b into the index of questions.
// A key that has several changes is in as many statements.
func (s *Store) queueAsks(batch *pgx.Batch, b *bundle) {
	var waves [][]ask
	waveOf := map[[2]string]int{}
	for i := range b.rows {
		if r := &b.rows[i]; runlog.AskKind(r.Kind) {
			key := [2]string{r.Run, r.Name}
			n := waveOf[key]
			if waveOf[key] = n + 1; n == len(waves) {
				waves = append(waves, nil)
			}
			waves[n] = append(waves[n], newAsk(&r.Record, r.at))
		}
	}
	for _, wave := range waves {
		batch.Queue(s.sql.of(putAsks), askColumns(wave)...)
	}
	var ended []string
	for _, p := range b.parts {
		if p.ended {
			ended = append(ended, toText(p.run))
		}
	}
	if len(ended) > 0 {
		batch.Queue(s.sql.of(deleteAsks), ended)
	}
}

// OpenAsks implements [runlog.OpenQuestions].
func (s *Store) OpenAsks(ctx context.Context, q runlog.AskQuery) iter.Seq2[runlog.OpenAsk, error] {
	w := askConditions(q)
	found := pages(q.Limit, func(p *page[runlog.OpenAsk]) error {
		after := q.After
		if p.last != nil {
			after = p.last.Place()
		}
		return s.query(ctx, func(row pgx.Rows) error {
			a, err := openAsk(row)
			if err == nil {
				p.add(a, len(a.Data))
			}
			return err
		}, s.sql.of(selectOpenAsks+w.sql+oldestFirst), append([]any{nanos(after.At), toText(after.Run), after.Seq, p.limit}, w.args...)...)
	})
	return func(yield func(runlog.OpenAsk, error) bool) {
		n := 0
		for a, err := range found {
			if err == nil && !q.Selects(&a) {
				continue
			}
			n++
			if !yield(a, err) || err != nil || n == q.Limit {
				return
			}
		}
	}
}

// openAsk reads a row of selectOpenAsks.
func openAsk(row pgx.Rows) (a runlog.OpenAsk, err error) {
	var labels []byte
	if a.Record, err = recordWith(row, &a.Run, &a.Flow, &labels); err != nil {
		return a, err
	}
	a.Flow = fromText(a.Flow)
	if labels != nil && json.Unmarshal(labels, &a.Labels) != nil {
		return a, damaged(a.Run, "labels")
	}
	return a, nil
}

// askConditions select all that q selects, and a few more where texts have odd bytes.
func askConditions(q runlog.AskQuery) where {
	w := where{before: 4}
	if q.Run != "" {
		w.and("no = (SELECT no FROM @runs WHERE run = $%d)", toText(q.Run))
	}
	if q.Flow != "" {
		w.and("flow = $%d", toText(q.Flow))
	}
	w.label(q.Label)
	if q.Text != "" {
		w.and(hasText("text"), searchText(runlog.LowerASCII(q.Text)))
	}
	if !q.Before.IsZero() {
		w.and("at < $%d", nanos(q.Before))
	}
	return w
}

// hasText is the condition that a column of texts to search in has a text, or is in hex.
func hasText(column string) string {
	return "(strpos(" + column + ", $%[1]d) > 0 OR left(" + column + `, 2) = '\x')`
}

// findAsks fills the index of open questions from the logs of open runs. A damaged record
// ends what is known of its run.
func findAsks(ctx context.Context, tx pgx.Tx, sql *statements) error {
	rows, err := tx.Query(ctx, sql.of(`SELECT l.seq, l.n, l.at, l.sum, l.kind, l.branch, l.name, l.hash, l.data, l.blob, r.run
		FROM @log l JOIN @runs r USING (no) WHERE NOT r.ended AND `+askKinds+" ORDER BY no, l.seq"))
	if err != nil {
		return err
	}
	defer rows.Close()
	last, broken := map[[2]string]ask{}, map[string]bool{}
	for rows.Next() {
		var run string
		r, err := recordWith(rows, &run)
		if broken[run] = broken[run] || err != nil; broken[run] {
			continue
		}
		a, key := newAsk(&r, nanos(r.At)), [2]string{run, r.Name}
		if a.Counts(last[key].AskChange) {
			last[key] = a
		}
	}
	found := make([]ask, 0, len(last))
	for _, a := range last {
		found = append(found, a)
	}
	if err := rows.Err(); err != nil || len(found) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, sql.of(putAsks), askColumns(found)...)
	return err
}
