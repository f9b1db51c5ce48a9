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
	blobs := m.run(run).blobs
	if _, ok := blobs[hash]; !ok {
		blobs[hash] = bytes.Clone(data)
	}
	return hash, nil
}

// Blob implements [Blobs].
func (m *Memory) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	var data []byte
	ok := false
	if r := m.runs[run]; r != nil {
		data, ok = r.blobs[hash] // never changes
	}
	m.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%w: %q of run %q", ErrNoBlob, hash, run)
	}
	if err := CheckBlob(run, hash, data); err != nil {
		return nil, err
	}
	return bytes.Clone(data), nil
}

// BlobsOf implements [Blobs].
func (m *Memory) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return yieldAll(ctx, bytes.Clone, func() (all [][]byte, err error) {
		blobs := m.blobsOf(run)
		for _, hash := range slices.Sorted(maps.Keys(blobs)) {
			if err = CheckBlob(run, hash, blobs[hash]); err != nil {
				break
			}
			all = append(all, blobs[hash])
		}
		return all, err
	})
}

// blobsOf returns the blobs of run by hash; the data is shared and never changes.
func (m *Memory) blobsOf(run string) map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.runs[run]; r != nil {
		return maps.Clone(r.blobs)
	}
	return nil
}
