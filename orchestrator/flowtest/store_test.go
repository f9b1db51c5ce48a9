package flowtest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

func recs(run string, from int64, kinds ...string) []runlog.Record {
	var all []runlog.Record
	for i, kind := range kinds {
		all = append(all, runlog.Record{Run: run, Seq: from + int64(i), Kind: kind, N: int64(i)})
	}
	return all
}

func kindsIn(t *testing.T, s runlog.Store, run string) []string {
	t.Helper()
	var kinds []string
	for _, rec := range readLog(t, s, run) {
		kinds = append(kinds, rec.Kind)
	}
	return kinds
}

func TestFaultyStore(t *testing.T) {
	first, second, third := recs("r", 0, "started", "called"), recs("r", 2, "called"), recs("r", 3, "called")
	tests := []struct {
		fault  fault
		at     int
		errs   []error
		stored int
	}{
		{killed, 1, []error{errKilled, errKilled, errKilled}, 1},
		{killed, 2, []error{nil, errKilled, errKilled}, 2},
		{killed, 9, []error{nil, nil, nil}, 4},
		{twice, 2, []error{nil, errKilled, errKilled}, 2},
		{unwritten, 2, []error{nil, errWrite, runlog.ErrConflict}, 2},
		{unsure, 2, []error{nil, errUnsure, nil}, 4},
		{hanging, 2, []error{nil, errHangs, runlog.ErrConflict}, 2},
		{conflict, 2, []error{nil, runlog.ErrConflict, errKilled}, 2},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := runlog.NewMemory()
				s := newFaulty(t, mem, tt.fault, tt.at)
				for i, batch := range [][]runlog.Record{first, second, third} {
					require.ErrorIs(t, s.Append(t.Context(), batch), tt.errs[i], "batch %d", i)
				}
				assert.Len(t, readLog(t, mem, "r"), tt.stored)
				assert.Len(t, s.waitedFor(), tt.stored)
			})
		})
	}
}

// A store that hangs answers when all else waits, and not before.
func TestStoreThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFaulty(t, runlog.NewMemory(), hanging, 0)
		meanwhile := make(chan error, 2)
		go func() { meanwhile <- s.Append(t.Context(), recs("r", 0, "started")) }()
		synctest.Wait()
		require.Empty(t, meanwhile)
		require.NoError(t, s.Append(t.Context(), recs("r", 0, "started")), "it fails once")
		assert.ErrorIs(t, <-meanwhile, errHangs)
	})
}

// Records of resumptions do not count: a process that is killed for the second time
// has got no further.
func TestSecondKillIsAtTheSameRecord(t *testing.T) {
	mem := runlog.NewMemory()
	require.NoError(t, mem.Append(t.Context(), recs("r", 0, "started", "resumed")))
	s := newFaulty(t, mem, twice, 1)
	require.ErrorIs(t, s.Append(t.Context(), recs("r", 2, "resumed", "called")), errKilled)
	assert.Equal(t, []string{"started", "resumed", "resumed"}, kindsIn(t, mem, "r"))
}
