package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	selectTakes = `SELECT rev, ended, canceled, EXISTS(SELECT 1 FROM @letters l WHERE l.no = r.no AND l.key = $2) FROM @runs r WHERE run = $1`

	// putLetter stores a letter if the run's rev has not changed since it was read.
	putLetter = `WITH run AS (UPDATE @runs SET rev = rev + 1 WHERE run = $1 AND rev = $2 AND NOT ended RETURNING no)
		INSERT INTO @letters(no, key, expired, data, sum) SELECT no, $3, $4, $5, $6 FROM run`

	// Append has removed the letters that are in the log.
	selectLetters      = "SELECT run, key, expired, data, sum FROM @letters JOIN @runs USING (no)"
	selectLettersAll   = selectLetters + " ORDER BY id"
	selectLettersOfRun = selectLetters + " WHERE run = $1 ORDER BY id"
)

// errChanged says that the run changed between reading and writing.
var errChanged = errors.New("the run has changed")

// Put implements [runlog.Inbox].
func (s *Store) Put(ctx context.Context, l runlog.Letter) error {
	err := errChanged
	for errors.Is(err, errChanged) {
		var rev int64
		if rev, err = s.takes(ctx, l.Run, l.Key); err == nil {
			err = s.put(ctx, l, rev)
		}
	}
	return err
}

// takes returns the rev of run, or an error if its log closes key or it has a letter for
// key. It reads the rev first, so that putLetter notices later changes.
func (s *Store) takes(ctx context.Context, run, key string) (rev int64, err error) {
	found, ended, canceled, taken := false, false, false, false
	err = s.query(ctx, func(row pgx.Rows) error {
		found = true
		return row.Scan(&rev, &ended, &canceled, &taken)
	}, s.sql.of(selectTakes), toText(run), toText(key))
	switch {
	case err != nil:
		return 0, err
	case !found:
		return 0, fmt.Errorf("postgres: put letter: %w: %q", runlog.ErrNoRun, run)
	case ended:
		return 0, fmt.Errorf("postgres: put letter: %w: %q", runlog.ErrEnded, run)
	case taken:
		return 0, fmt.Errorf("postgres: put letter: %w: run %q has a letter for key %q", runlog.ErrConflict, run, key)
	case key == "" && canceled:
		return 0, fmt.Errorf("postgres: put letter: %w: run %q is canceled", runlog.ErrConflict, run)
	case key == "":
		return rev, nil
	}
	state := ""
	for rec, err := range s.Asks(ctx, run, key) {
		if err != nil {
			return 0, err
		}
		state = runlog.AskState(state, rec)
	}
	if state != "" && state != runlog.Asked {
		return 0, fmt.Errorf("postgres: put letter: %w: question %q of run %q is %s", runlog.ErrConflict, key, run, state)
	}
	return rev, nil
}

func (s *Store) put(ctx context.Context, l runlog.Letter, rev int64) error {
	changed := false
	err := s.do(ctx, "put letter", func(ctx context.Context) error {
		b := s.limits()
		b.Queue(s.sql.of(putLetter), toText(l.Run), rev, toText(l.Key), l.Expired, toBytes(l.Data), letterSum(l))
		res := s.send(ctx, b)
		tag, err := res.Exec()
		changed = err == nil && tag.RowsAffected() == 0
		err = cmp.Or(err, res.Close())
		if err == nil && !changed {
			s.teller.tellLetter(l.Run)
		}
		return err
	})
	if err == nil && changed {
		err = errChanged
	}
	return err
}

// Letters implements [runlog.Inbox], in the order in which they came.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	sql, args := selectLettersAll, []any(nil)
	if run != "" {
		sql, args = selectLettersOfRun, []any{toText(run)}
	}
	return collected(ctx, func() (letters []runlog.Letter, err error) {
		err = s.query(ctx, func(row pgx.Rows) error {
			var l runlog.Letter
			var data []byte
			var sum int32
			if err := row.Scan(&l.Run, &l.Key, &l.Expired, &data, &sum); err != nil {
				return err
			}
			l.Run, l.Key, l.Data = fromText(l.Run), fromText(l.Key), data
			if letterSum(l) != sum {
				return damaged(l.Run, "letter for key %q", l.Key)
			}
			letters = append(letters, l)
			return nil
		}, s.sql.of(sql), args...)
		return letters, err
	})
}
