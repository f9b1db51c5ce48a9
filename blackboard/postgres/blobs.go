package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/convene-go/convene/blackboard/runlog"
)

const (
	insertBlob   = "INSERT INTO @blobs(run, hash, data) VALUES($1, $2, $3) ON CONFLICT DO NOTHING"
	selectBlob   = "SELECT data FROM @blobs WHERE run = $1 AND hash = $2"
	selectHashes = "SELECT hash FROM @blobs WHERE run = $1 ORDER BY hash"
)

// PutBlob implements [runlog.Blobs].
func (s *Store) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	hash := runlog.BlobHash(data)
	err := s.do(ctx, "put blob", func(ctx context.Context) error {
		b := s.limits()
		b.Queue(s.sql.of(insertBlob), toText(run), hash, toBytes(data))
		return s.send(ctx, b).Close()
	})
	if err != nil {
		return "", err
	}
	return hash, nil
}

// Blob implements [runlog.Blobs].
func (s *Store) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	found := false
	var data []byte
	err := s.query(ctx, func(row pgx.Rows) error {
		found = true
		return row.Scan(&data)
	}, s.sql.of(selectBlob), toText(run), toText(hash))
	if err == nil && !found {
		err = fmt.Errorf("%w: %q of run %q", runlog.ErrNoBlob, hash, run)
	}
	if err == nil {
		err = runlog.CheckBlob(run, hash, data)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// BlobsOf implements [runlog.Blobs]. It yields the blobs that existed when it
// began; one that is deleted meanwhile is [runlog.ErrNoBlob].
func (s *Store) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var hashes []string
		err := s.query(ctx, func(row pgx.Rows) error {
			var hash string
			err := row.Scan(&hash)
			hashes = append(hashes, hash)
			return err
		}, s.sql.of(selectHashes), toText(run))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, hash := range hashes {
			data, err := s.Blob(ctx, run, hash)
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}
