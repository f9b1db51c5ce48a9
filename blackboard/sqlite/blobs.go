package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/convene-go/convene/blackboard"
)

const (
	insertBlob  = "INSERT INTO blobs(run, hash, data) VALUES(?, ?, ?) ON CONFLICT DO NOTHING"
	selectBlob  = "SELECT data FROM blobs WHERE run = ? AND hash = ?"
	selectBlobs = "SELECT hash, data FROM blobs WHERE run = ? AND hash > ? ORDER BY hash"
)

// PutBlob implements [blackboard.Blobs].
func (s *Store) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	err := s.change(ctx, func(c *conn) error {
		_, err := c.run(insertBlob, run, hash, bytesOrNull(data))
		return err
	})
	if err != nil {
		return "", err
	}
	return hash, nil
}

// Blob implements [blackboard.Blobs].
func (s *Store) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	var data []byte
	found := false
	err := s.read(ctx, func(c *conn) error {
		return c.rows(func(row []driver.Value) bool {
			data, found = bytes(row[0]), true
			return false
		}, selectBlob, run, hash)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: %q of run %q", blackboard.ErrNoBlob, hash, run)
	}
	return data, err
}

// storedBlob is a blob and its hash.
type storedBlob struct {
	hash string
	data []byte
}

// BlobsOf implements [blackboard.Blobs].
func (s *Store) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	stored := pages(func(p *page[storedBlob]) error {
		after := ""
		if p.last != nil {
			after = p.last.hash
		}
		return s.read(ctx, func(c *conn) error {
			return c.rows(func(row []driver.Value) bool {
				b := storedBlob{text(row[0]), bytes(row[1])}
				return p.add(b, len(b.data))
			}, p.limited(selectBlobs), run, after)
		})
	})
	return func(yield func([]byte, error) bool) {
		for b, err := range stored {
			if !yield(b.data, err) {
				return
			}
		}
	}
}
