package runlog_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// asking has a run with records about two questions among others.
func asking(t *testing.T) *runlog.Memory {
	t.Helper()
	m := runlog.NewMemory()
	for seq, r := range []struct{ kind, name string }{
		{runlog.Started, "q"},
		{runlog.Asked, "q"},
		{runlog.Called, "q"},
		{runlog.Asked, "q2"},
		{runlog.Expired, "q"},
		{runlog.Asked, "q"},
		{runlog.Answered, "q"},
		{runlog.Withdrawn, "q2"},
		{"my own", "q2"},
		{runlog.Ended, "q"},
	} {
		rec := runlog.Record{Run: "r", Seq: int64(seq), Kind: r.kind, Name: r.name, Data: []byte(`{}`)}
		require.NoError(t, m.Append(t.Context(), []runlog.Record{rec, {Run: fmt.Sprint("other-", seq), Kind: r.kind, Name: r.name}}))
	}
	return m
}

// seqs returns the places of records in their log.
func seqs(recs []runlog.Record) (places []int64) {
	for _, r := range recs {
		places = append(places, r.Seq)
	}
	return places
}

// TestAsks compares what a store with an index yields with what is read from a log.
func TestAsks(t *testing.T) {
	m := asking(t)
	for _, s := range []runlog.Store{m, plain{m}} {
		for _, tt := range []struct {
			run, key string
			want     []int64
		}{
			{"r", "", []int64{1, 3, 4, 5, 6, 7}},
			{"r", "q", []int64{1, 4, 5, 6}},
			{"r", "q2", []int64{3, 7}},
			{"r", "Q", nil},
			{"other-1", "", []int64{0}},
			{"other-2", "", nil},
			{"unknown", "", nil},
			{"unknown", "q", nil},
		} {
			got := all(t, runlog.Asks(t.Context(), s, tt.run, tt.key))
			assert.Equal(t, tt.want, seqs(got), "%T: key %q of run %q", s, tt.key, tt.run)
			for _, rec := range got {
				assert.Equal(t, tt.run, rec.Run)
			}
		}
	}
}

// indexed is a store with an index that it can be seen to use.
type indexed struct {
	runlog.Store
	asked []string
}

func (x *indexed) Asks(_ context.Context, run, key string) iter.Seq2[runlog.Record, error] {
	x.asked = append(x.asked, run+" "+key)
	return func(yield func(runlog.Record, error) bool) { yield(runlog.Record{Name: "from the index"}, nil) }
}

func TestAsksUsesTheIndex(t *testing.T) {
	x := &indexed{Store: asking(t)}
	got := all(t, runlog.Asks(t.Context(), x, "r", "q"))
	assert.Equal(t, []runlog.Record{{Name: "from the index"}}, got)
	assert.Equal(t, []string{"r q"}, x.asked)
}

// logs is a store without an index whose Records may fail.
type logs struct {
	runlog.Store
	failing *failing
}

func (l logs) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return l.failing.Records(ctx, run, from)
}

// TestAsksFails has the log fail behind records that are yielded and others that are not.
func TestAsksFails(t *testing.T) {
	m := asking(t)
	for fails, want := range map[int][]int64{1: nil, 3: {1}, 6: {1, 3, 4, 5}} {
		var got []int64
		var failed error
		for rec, err := range runlog.Asks(t.Context(), logs{m, &failing{Memory: m, records: fails}}, "r", "") {
			require.NoError(t, failed, "it yields no more after the error")
			if failed = err; err == nil {
				got = append(got, rec.Seq)
			}
		}
		require.ErrorIs(t, failed, errDisk)
		assert.Equal(t, want, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []runlog.Store{m, plain{m}} {
		require.ErrorIs(t, failure(t, runlog.Asks(ctx, s, "r", "q")), context.Canceled)
	}
}

// TestAsksStopsEarly reads only as much of a log as the loop wants.
func TestAsksStopsEarly(t *testing.T) {
	m := asking(t)
	for _, s := range []runlog.Store{m, logs{m, &failing{Memory: m, records: 4}}} {
		for rec, err := range runlog.Asks(t.Context(), s, "r", "q2") {
			require.NoError(t, err)
			assert.Equal(t, int64(3), rec.Seq)
			break
		}
	}
}

// TestAsksBodyCallsTheStore has no lock held while it yields.
func TestAsksBodyCallsTheStore(t *testing.T) {
	m := asking(t)
	for _, s := range []runlog.Store{m, plain{m}} {
		for _, err := range runlog.Asks(t.Context(), s, "r", "q2") {
			require.NoError(t, err)
			_, err = s.Last(t.Context(), "r")
			require.NoError(t, err)
		}
	}
}
