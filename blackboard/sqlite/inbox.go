package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

const (
	putLetter = `INSERT INTO letters(run, key, data) SELECT ?1, ?2, CAST(?3 AS TEXT)
		WHERE NOT EXISTS(SELECT 1 FROM log WHERE kind = 'answered' AND name = ?2 AND ` + ofRun + `)
		ON CONFLICT DO NOTHING`
	putCancel = `INSERT INTO letters(run, key, data) SELECT ?1, '', CAST(?2 AS TEXT)
		WHERE NOT EXISTS(SELECT 1 FROM log WHERE kind = 'canceled' AND ` + ofRun + `)
		ON CONFLICT DO NOTHING`

	// Append has removed the letters that are in the log.
	selectLetters      = "SELECT id, run, key, CAST(data AS BLOB) FROM letters WHERE id > ? ORDER BY id"
	selectLettersOfRun = "SELECT id, run, key, CAST(data AS BLOB) FROM letters WHERE id > ? AND run = ? ORDER BY id"
)

// Put implements [blackboard.Inbox].
func (s *Store) Put(ctx context.Context, l blackboard.Letter) error {
	return s.change(ctx, func(c *conn) error {
		var n int64
		var err error
		if l.Key == "" {
			n, err = c.run(putCancel, l.Run, bytesOrNull(l.Data))
		} else {
			n, err = c.run(putLetter, l.Run, l.Key, bytesOrNull(l.Data))
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: run %q has a letter for %q", blackboard.ErrConflict, l.Run, l.Key)
		}
		return err
	})
}

// storedLetter is a letter and where it is.
type storedLetter struct {
	blackboard.Letter
	id int64
}

// Letters implements [blackboard.Inbox], in the order in which they came.
func (s *Store) Letters(ctx context.Context, run string) iter.Seq2[blackboard.Letter, error] {
	stored := pages(func(p *page[storedLetter]) error {
		var after int64
		if p.last != nil {
			after = p.last.id
		}
		each := func(row []driver.Value) bool {
			l := blackboard.Letter{Run: text(row[1]), Key: text(row[2]), Data: bytes(row[3])}
			return p.add(storedLetter{l, integer(row[0])}, len(l.Data))
		}
		return s.read(ctx, func(c *conn) error {
			if run == "" {
				return c.rows(each, p.limited(selectLetters), after)
			}
			return c.rows(each, p.limited(selectLettersOfRun), after, run)
		})
	})
	return func(yield func(blackboard.Letter, error) bool) {
		for l, err := range stored {
			if !yield(l.Letter, err) {
				return
			}
		}
	}
}
