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

// PutBlob implements [Blobs].
func (m *Memory) PutBlob(ctx context.Context, run string, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	hash := blobHash(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	blobs := m.run(run).blobs
	if _, ok := blobs[hash]; !ok {
		blobs[hash] = bytes.Clone(data)
	}
	return hash, nil
}

// blobHash is the name of a blob.
func blobHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Blob implements [Blobs].
func (m *Memory) Blob(ctx context.Context, run, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, ok := m.blobsOf(run)[hash]
	if !ok {
		return nil, fmt.Errorf("%w: %q of run %q", ErrNoBlob, hash, run)
	}
	return bytes.Clone(data), nil
}

// BlobsOf implements [Blobs].
func (m *Memory) BlobsOf(ctx context.Context, run string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		blobs := m.blobsOf(run)
		for _, hash := range slices.Sorted(maps.Keys(blobs)) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(bytes.Clone(blobs[hash]), nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(nil, err)
		}
	}
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
