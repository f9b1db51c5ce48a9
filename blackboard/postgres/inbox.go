package postgres

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	// putLetter reports whether the run is there, and whether the address was free. Its
	// lock keeps Delete from missing the letter, and lets records be appended.
	putLetter = `WITH run AS (SELECT no FROM @runs WHERE run = $1 FOR KEY SHARE),
		put AS (INSERT INTO @inbox(no, key, round, expired, data, sum) SELECT no, $2, $3, $4, $5, $6 FROM run ON CONFLICT DO NOTHING RETURNING id)
		SELECT EXISTS(TABLE run), EXISTS(TABLE put)`
	takeLetter = `UPDATE @inbox i SET taken = true, data = NULL FROM @runs r
		WHERE r.run = $1 AND i.no = r.no AND NOT i.taken AND i.key = $2 AND i.round = $3`

	selectLetters      = "SELECT run, key, round, expired, data, sum FROM @inbox JOIN @runs USING (no) WHERE NOT taken"
	selectLettersOfRun = selectLetters + " AND run = $1"
)

// Put implements [runlog.Inbox].
func (s *Store) Put(ctx context.Context, l runlog.Letter) error {
	return s.do(ctx, "put letter", func(ctx context.Context) error {
		found, free := false, false
		b := s.limits()
		b.Queue(s.sql.of(putLetter), toText(l.Run), toText(l.Key), l.Round, l.Expired, toBytes(l.Data), letterSum(l)).QueryRow(func(row pgx.Row) error {
			return row.Scan(&found, &free)
		})
		err := s.cfg.Pool.SendBatch(ctx, b).Close()
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("%w: %q", runlog.ErrNoRun, l.Run)
		case !free:
			return fmt.Errorf("%w: run %q had a letter for key %q, round %d", runlog.ErrConflict, l.Run, l.Key, l.Round)
		}
		s.teller.tellLetter(l.Run)
		return nil
	})
}

// Take implements [runlog.Inbox]. Of a letter that was taken only the address is kept.
func (s *Store) Take(ctx context.Context, run, key string, round int) error {
	return s.do(ctx, "take letter", func(ctx context.Context) error {
		b := s.limits()
		b.Queue(s.sql.of(takeLetter), toText(run), toText(key), round)
		return s.send(ctx, b).Close()
	})
}

// Letters implements [runlog.Inbox].
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[runlog.Letter, error] {
	sql, args := selectLetters, []any(nil)
	if run != "" {
		sql, args = selectLettersOfRun, []any{toText(run)}
	}
	return collected(ctx, func() (letters []runlog.Letter, err error) {
		err = s.query(ctx, func(row pgx.Rows) error {
			var l runlog.Letter
			var data []byte
			var sum int32
			if err := row.Scan(&l.Run, &l.Key, &l.Round, &l.Expired, &data, &sum); err != nil {
				return err
			}
			l.Run, l.Key, l.Data = fromText(l.Run), fromText(l.Key), data
			if letterSum(l) != sum {
				return damaged(l.Run, "letter for key %q", l.Key)
			}
			letters = append(letters, l)
			return nil
		}, s.sql.of(sql), args...)
		slices.SortFunc(letters, func(a, b runlog.Letter) int { // stored texts may have another order
			return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Round, b.Round))
		})
		return letters, err
	})
}
