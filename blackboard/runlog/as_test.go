package runlog_test

import (
	"bytes"
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// seen is a store that counts what is appended to the one inside.
type seen struct {
	runlog.Store
	appended *int
}

func (s seen) Append(ctx context.Context, recs []runlog.Record) error {
	*s.appended += len(recs)
	return s.Store.Append(ctx, recs)
}

func (s seen) Unwrap() runlog.Store { return s.Store }

// deaf is a wrapper with an interface of its own.
type deaf struct {
	seen
	runlog.Deleter
}

func TestAs(t *testing.T) {
	m := runlog.NewMemory()
	n := 0
	s := seen{seen{m, &n}, &n}
	owners, ok := runlog.As[runlog.Owners](s)
	require.True(t, ok)
	assert.Same(t, m, owners, "the one inside")
	_, ok = runlog.As[runlog.Owners](struct{ runlog.Store }{s})
	assert.False(t, ok, "what has no Unwrap hides it")
	_, ok = runlog.As[runlog.Owners](nil)
	assert.False(t, ok)
	_, ok = runlog.As[runlog.Owners](seen{nil, &n})
	assert.False(t, ok, "nothing is inside")
	_, ok = runlog.As[interface{ Nothing() }](s)
	assert.False(t, ok)
	d := deaf{s, nil}
	got, ok := runlog.As[runlog.Deleter](d)
	require.True(t, ok)
	assert.Equal(t, d, got, "the outermost comes first")
}

// What exports and reads questions finds the interfaces of a wrapped store.
func TestWrappedStoreKeepsBlobsAndQuestions(t *testing.T) {
	n := 0
	s := seen{runlog.NewMemory(), &n}
	hash, err := s.Store.(runlog.Blobs).PutBlob(t.Context(), "r", []byte("large"))
	require.NoError(t, err)
	rec := runlog.Record{Run: "r", Kind: runlog.Started, Name: "f", At: day}
	rec.Blob = hash
	require.NoError(t, s.Append(t.Context(), []runlog.Record{rec}))
	assert.Equal(t, 1, n)
	var out bytes.Buffer
	require.NoError(t, runlog.Export(t.Context(), s, "r", &out))
	other := seen{runlog.NewMemory(), &n}
	_, err = runlog.Import(t.Context(), other, &out)
	require.NoError(t, err)
	assert.Empty(t, all(t, runlog.Asks(t.Context(), seen{noRecords{s.Store}, &n}, "r", "")), "the index says that the run has no questions")
}

// noRecords fails where the whole log is read, as for a store without an index.
type noRecords struct{ runlog.Store }

func (s noRecords) Unwrap() runlog.Store { return s.Store }

func (noRecords) Records(context.Context, string, int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{}, assert.AnError) }
}
