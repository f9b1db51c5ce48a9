package doubles_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
)

var start = []runlog.Record{{Run: "r", Kind: runlog.Started}}

func length(t *testing.T, m *runlog.Memory) int {
	t.Helper()
	n := 0
	for _, err := range m.Records(t.Context(), "r", 0) {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestHealthyDoubleIsTheStore(t *testing.T) {
	storetest.Suite{
		Open: func(*testing.T) runlog.Store { return doubles.New(runlog.NewMemory()).Store() },
		In:   synctest.Test,
	}.Run(t)
}

func TestFail(t *testing.T) {
	m := runlog.NewMemory()
	d := doubles.New(m)
	d.Fail(2)
	require.ErrorIs(t, d.Store().Append(t.Context(), start), doubles.ErrDouble)
	_, err := d.Store().Last(t.Context(), "r")
	require.ErrorIs(t, err, doubles.ErrDouble)
	assert.Zero(t, length(t, m))
	require.NoError(t, d.Store().Append(t.Context(), start))
	assert.Equal(t, 2, d.Calls("Append"))
}

func TestLose(t *testing.T) {
	m := runlog.NewMemory()
	d := doubles.New(m)
	d.Lose(1)
	for _, err := range d.Store().Records(t.Context(), "r", 0) {
		assert.NoError(t, err, "nothing to lose")
	}
	require.ErrorIs(t, d.Store().Append(t.Context(), start), doubles.ErrDouble)
	assert.Equal(t, 1, length(t, m))
	require.ErrorIs(t, d.Store().Append(t.Context(), start), runlog.ErrConflict)
}

func TestHangAndSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runlog.NewMemory()
		d := doubles.New(m)
		d.Hang()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, d.Store().Append(ctx, start), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(began))
		d.Heal()
		d.Slow(time.Minute)
		require.NoError(t, d.Store().Append(t.Context(), start))
		assert.Equal(t, time.Second+time.Minute, time.Since(began))
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range d.Store().List(ctx, runlog.Query{}) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.Equal(t, 1, length(t, m))
	})
}

func TestOnly(t *testing.T) {
	d := doubles.New(runlog.NewMemory())
	d.Only("Put", "Asks")
	d.Fail(1)
	require.NoError(t, d.Store().Append(t.Context(), start))
	in, ok := d.Store().(runlog.Inbox)
	require.True(t, ok)
	require.ErrorIs(t, in.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}), doubles.ErrDouble)
	require.NoError(t, in.Put(t.Context(), runlog.Letter{Run: "r", Key: "q"}))
}

// TestInterfaces shows which interfaces a double has: those of its store.
func TestInterfaces(t *testing.T) {
	m := runlog.NewMemory()
	plain := doubles.New(struct{ runlog.Store }{m}).Store()
	_, inbox := plain.(runlog.Inbox)
	_, notifier := plain.(runlog.Notifier)
	assert.False(t, inbox)
	assert.False(t, notifier)
	mute := doubles.New(struct {
		runlog.Store
		runlog.Owners
		runlog.Inbox
		runlog.Questions
		runlog.Blobs
		runlog.Deleter
	}{m, m, m, m, m, m}).Store()
	_, inbox = mute.(runlog.Inbox)
	_, notifier = mute.(runlog.Notifier)
	assert.True(t, inbox)
	assert.False(t, notifier)
	_, notifier = doubles.New(struct {
		runlog.Store
		runlog.Notifier
	}{m, m}).Store().(runlog.Notifier)
	assert.True(t, notifier)
}
