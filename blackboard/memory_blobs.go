package blackboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// BlobHash returns the hash by which [Blobs] keep data: the SHA-256 in lower case
// hex.
func BlobHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckBlob returns [ErrDamaged], with the names of both, if data of a blob of run
// does not have its hash.
func CheckBlob(run, hash string, data []byte) error {
	if got := BlobHash(data); got != hash {
		return fmt.Errorf("%w: blob %q of run %q has the hash %s", ErrDamaged, hash, run, got)
	}
	return nil
}

// PutBlob implements [Blobs].
func (m *Memory) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	hash := BlobHash(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if blobs := m.run(run).blobs; blobs[hash] == nil {
		blobs[hash] = append([]byte{}, data...)
	}
	return hash, nil
}

// Blob implements [Blobs].
func (m *Memory) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	var data []byte
	err := m.locked(ctx, func() error {
		if r := m.runs[run]; r != nil {
			data = r.blobs[hash]
		}
		return nil
	})
	if err == nil && data == nil {
		err = fmt.Errorf("%w: %q of run %q", ErrNoBlob, hash, run)
	}
	if err == nil {
		err = CheckBlob(run, hash, data)
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// BlobsOf implements [Blobs]. It yields the blobs that were there when it began; one
// that is deleted meanwhile is [ErrNoBlob].
func (m *Memory) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var hashes []string
		err := m.locked(ctx, func() error {
			if r := m.runs[run]; r != nil {
				hashes = slices.Sorted(maps.Keys(r.blobs))
			}
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, hash := range hashes {
			data, err := m.Blob(ctx, run, hash)
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}
