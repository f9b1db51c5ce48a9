package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	insertBlob   = "INSERT INTO blobs(run, hash, data) VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
	selectBlob   = "SELECT data FROM blobs WHERE run = ? AND hash = ?"
	selectHashes = "SELECT hash FROM blobs WHERE run = ? ORDER BY hash"
)

// PutBlob implements [runlog.Blobs].
func (s *Store) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	hash := runlog.BlobHash(data)
	return hash, s.change(ctx, func(c *conn) error { return c.exec(insertBlob, run, hash, data) })
}

// Blob implements [runlog.Blobs].
func (s *Store) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	rows, err := s.all(ctx, selectBlob, run, hash)
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, fmt.Errorf("sqlite: %w: %q of run %q", runlog.ErrNoBlob, hash, run)
	}
	data := as[[]byte](rows[0][0])
	if err := runlog.CheckBlob(run, hash, data); err != nil {
		return nil, err
	}
	return data, nil
}

// BlobsOf implements [runlog.Blobs]. It yields the blobs that were there when it
// began; one that is deleted meanwhile is [runlog.ErrNoBlob].
func (s *Store) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		hashes, err := s.all(ctx, selectHashes, run)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, row := range hashes {
			data, err := s.Blob(ctx, run, as[string](row[0]))
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}
