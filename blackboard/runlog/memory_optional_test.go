package runlog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// Memory is a store with all that a store can do.
var (
	_ runlog.Store     = (*runlog.Memory)(nil)
	_ runlog.Owners    = (*runlog.Memory)(nil)
	_ runlog.Notifier  = (*runlog.Memory)(nil)
	_ runlog.Messenger = (*runlog.Memory)(nil)
	_ runlog.Inbox     = (*runlog.Memory)(nil)
	_ runlog.Questions = (*runlog.Memory)(nil)
	_ runlog.Blobs     = (*runlog.Memory)(nil)
	_ runlog.Deleter   = (*runlog.Memory)(nil)
)

// TestMemoryZeroValue has each method be the first that a Memory sees.
func TestMemoryZeroValue(t *testing.T) {
	ctx := t.Context()
	for name, first := range map[string]func(m *runlog.Memory) error{
		"Append":  func(m *runlog.Memory) error { return m.Append(ctx, []runlog.Record{entry("r", 0)}) },
		"Beat":    func(m *runlog.Memory) error { return m.Beat(ctx, "ann", time.Minute) },
		"Leave":   func(m *runlog.Memory) error { return m.Leave(ctx, "ann") },
		"Take":    func(m *runlog.Memory) error { return m.Take(ctx, "r", "q", 0) },
		"Delete":  func(m *runlog.Memory) error { return m.Delete(ctx, "r") },
		"PutBlob": func(m *runlog.Memory) error { _, err := m.PutBlob(ctx, "r", nil); return err },
		"Alive":   func(m *runlog.Memory) error { _, err := m.Alive(ctx, "ann"); return err },
		"Records": func(m *runlog.Memory) error { return failure(t, m.Records(ctx, "r", 0)) },
		"List":    func(m *runlog.Memory) error { return failure(t, m.List(ctx, runlog.Query{})) },
		"Letters": func(m *runlog.Memory) error { return failure(t, m.Letters(ctx, "")) },
		"Orphans": func(m *runlog.Memory) error { return failure(t, m.Orphans(ctx)) },
	} {
		assert.NoError(t, first(new(runlog.Memory)), name)
	}
	var m runlog.Memory
	_, err := m.Last(ctx, "r")
	require.ErrorIs(t, err, runlog.ErrNoRun)
	_, err = m.Blob(ctx, "r", "x")
	require.ErrorIs(t, err, runlog.ErrNoBlob)
	_, err = m.Request(ctx, "ann", nil)
	require.ErrorIs(t, err, runlog.ErrNoReply)
	require.ErrorIs(t, m.Put(ctx, runlog.Letter{Run: "r"}), runlog.ErrNoRun)
}

// TestMemoryErrorsSayWhat has the errors name what they are about.
func TestMemoryErrorsSayWhat(t *testing.T) {
	ctx, m := t.Context(), appended(t, entry("r", 0))
	require.EqualError(t, m.Append(ctx, []runlog.Record{entry("r", 2)}),
		`runlog: another writer was first: record 2 of run "r", which has 1 records, ended: false`)
	_, err := m.Last(ctx, "x")
	require.EqualError(t, err, `runlog: no such run: "x"`)
	require.EqualError(t, failure(t, m.List(ctx, runlog.Query{After: "x"})), `runlog: no such run: "x"`)
	_, err = m.Blob(ctx, "r", "4f")
	require.EqualError(t, err, `runlog: no such blob: "4f" of run "r"`)
	_, err = m.Request(ctx, "ann", nil)
	require.EqualError(t, err, `runlog: no such engine replies: "ann"`)
	require.NoError(t, m.Put(ctx, runlog.Letter{Run: "r", Key: "q", Round: 1}))
	require.EqualError(t, m.Put(ctx, runlog.Letter{Run: "r", Key: "q", Round: 1}),
		`runlog: another writer was first: run "r" had a letter for key "q", round 1`)
	require.EqualError(t, m.Beat(ctx, "", time.Second), `runlog: beat of engine "" for 1s: want a name and more than 0`)
	require.EqualError(t, m.Beat(ctx, "ann", 0), `runlog: beat of engine "ann" for 0s: want a name and more than 0`)
}

// TestMemoryShowsOneMoment has a loop yield what was there when it began.
func TestMemoryShowsOneMoment(t *testing.T) {
	ctx, m := t.Context(), appended(t, entry("a", 0), entry("a", 1))
	var got []int64
	for rec, err := range m.Records(ctx, "a", 0) {
		require.NoError(t, err)
		got = append(got, rec.Seq)
		require.NoError(t, m.Append(ctx, []runlog.Record{entry("a", int64(1+len(got)))}))
	}
	assert.Equal(t, []int64{0, 1}, got)
	var runs []string
	for l, err := range m.List(ctx, runlog.Query{}) {
		require.NoError(t, err)
		runs = append(runs, l.Run)
		require.NoError(t, m.Append(ctx, []runlog.Record{entry(fmt.Sprint("new-", len(runs)), 0)}))
	}
	assert.Equal(t, []string{"a"}, runs)
	for _, err := range m.Records(ctx, "a", 0) {
		require.NoError(t, err)
		require.NoError(t, m.Delete(ctx, "a"), "it can be deleted meanwhile")
	}
}

// TestMemoryDeleteForgetsAddresses has a run of the same ID begin anew.
func TestMemoryDeleteForgetsAddresses(t *testing.T) {
	ctx, m := t.Context(), appended(t, entry("a", 0), entry("b", 0))
	letter := func(run string) runlog.Letter { return runlog.Letter{Run: run, Key: "q"} }
	require.NoError(t, m.Put(ctx, letter("a")))
	require.NoError(t, m.Put(ctx, letter("b")))
	require.NoError(t, m.Take(ctx, "a", "q", 0))
	require.NoError(t, m.Delete(ctx, "a", "unknown"))
	require.ErrorIs(t, m.Put(ctx, letter("a")), runlog.ErrNoRun)
	require.NoError(t, m.Append(ctx, []runlog.Record{entry("a", 0)}))
	require.NoError(t, m.Put(ctx, letter("a")))
	require.ErrorIs(t, m.Put(ctx, letter("b")), runlog.ErrConflict, "the other run keeps its own")
}

// TestMemoryConcurrentAppends has one of many writers of each record win.
func TestMemoryConcurrentAppends(t *testing.T) {
	const writers, records = 8, 50
	m := runlog.NewMemory()
	var won [writers]int
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for seq := range int64(records) {
				rec := entry("r", seq)
				rec.N = int64(w)
				if m.Append(t.Context(), []runlog.Record{rec}) == nil {
					won[w]++
				}
			}
		})
	}
	group.Wait()
	sum := 0
	for _, n := range won {
		sum += n
	}
	assert.Equal(t, records, sum)
	assert.Len(t, all(t, m.Records(t.Context(), "r", 0)), records)
}

// TestMemoryOrphansOldestFirst leaves out ended runs and those of living engines.
func TestMemoryOrphansOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runlog.NewMemory()
		for minutes, r := range []struct{ run, owner string }{{"e", "ann"}, {"d", "bob"}, {"c", ""}, {"b", "ann"}, {"a", "ann"}} {
			rec := listed(r.run, 0, runlog.Started, fmt.Sprintf(`{"owner":%q}`, r.owner))
			rec.At = day.Add(time.Duration(minutes/4) * time.Minute) // e, d, c and b are of the same time
			require.NoError(t, m.Append(t.Context(), []runlog.Record{rec}))
		}
		orphans := func() []string { return runsOf(all(t, m.Orphans(t.Context()))) }
		assert.Equal(t, []string{"b", "c", "d", "e", "a"}, orphans())
		require.NoError(t, m.Beat(t.Context(), "bob", time.Minute))
		require.NoError(t, m.Append(t.Context(), []runlog.Record{listed("b", 1, runlog.Ended, `{}`)}))
		assert.Equal(t, []string{"c", "e", "a"}, orphans())
		<-time.After(time.Minute)
		assert.Equal(t, []string{"c", "d", "e", "a"}, orphans(), "bob was silent for too long")
		require.NoError(t, m.Beat(t.Context(), "ann", time.Hour))
		require.NoError(t, m.Leave(t.Context(), "ann"))
		assert.Equal(t, []string{"c", "d", "e", "a"}, orphans(), "who left is free at once")
	})
}

// TestMemoryChangesFromTheBeginning yields no change that was before the loop, and none
// of a second loop's.
func TestMemoryChangesFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := appended(t, entry("old", 0))
		ctx, cancel := context.WithCancel(t.Context())
		var got [2][]string
		var loops sync.WaitGroup
		watch := func(i int) {
			loops.Go(func() {
				for run, err := range m.Changes(ctx) {
					if err == nil {
						got[i] = append(got[i], run)
					}
				}
			})
			synctest.Wait()
		}
		watch(0)
		require.NoError(t, m.Append(t.Context(), []runlog.Record{entry("a", 0)}))
		synctest.Wait()
		watch(1)
		require.NoError(t, m.Append(t.Context(), []runlog.Record{entry("b", 0)}))
		synctest.Wait()
		require.Error(t, m.Append(t.Context(), []runlog.Record{entry("b", 0)}))
		require.NoError(t, m.Take(t.Context(), "old", "q", 0))
		synctest.Wait()
		cancel()
		loops.Wait()
		assert.Equal(t, [2][]string{{"a", "b"}, {"b"}}, got, "a refused record and a taken letter are no changes")
	})
}

// TestMemoryServe has the requests of an engine end with its Serve.
func TestMemoryServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runlog.NewMemory()
		ctx, stop := context.WithCancel(t.Context())
		var served sync.WaitGroup
		served.Go(func() {
			assert.ErrorIs(t, m.Serve(ctx, "ann", func(ctx context.Context, data []byte) []byte {
				if string(data) == "hang" {
					<-ctx.Done()
				}
				return append(data, " done"...)
			}), context.Canceled)
		})
		synctest.Wait()
		question := []byte("ask")
		reply, err := m.Request(t.Context(), "ann", question)
		require.NoError(t, err)
		assert.Equal(t, "ask done", string(reply))
		_, err = m.Request(t.Context(), "bob", question)
		require.ErrorIs(t, err, runlog.ErrNoReply)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.Request(short, "ann", []byte("hang"))
		require.ErrorIs(t, err, context.DeadlineExceeded)

		served.Go(func() {
			_, err := m.Request(t.Context(), "ann", []byte("hang"))
			assert.ErrorIs(t, err, runlog.ErrNoReply, "its engine has stopped")
		})
		synctest.Wait()
		stop()
		served.Wait()
		_, err = m.Request(t.Context(), "ann", question)
		require.ErrorIs(t, err, runlog.ErrNoReply)
	})
}
