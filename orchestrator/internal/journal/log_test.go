package journal_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/journal"
)

func TestPlacesOfRecords(t *testing.T) {
	both(t, func(t *testing.T, d *desk) {
		r := d.run("r")
		e := r.write(runlog.Started, engine.StartedData{Version: 3})
		synctest.Wait()
		assert.Equal(t, "started", r.outcome())
		assert.True(t, e.At.Equal(time.Now()), "a zero time becomes the present")
		at := time.Now().Add(time.Hour)
		e = r.entry("note", nil)
		e.At, e.Branch, e.N, e.Hash, e.Data = at, "0.1", 7, "hash", json.RawMessage(`{"a":1}`)
		require.NoError(t, d.WriteSync(t.Context(), r.log, e))
		require.NoError(t, r.sync(runlog.Ended, engine.EndedData{End: engine.End{Status: engine.Completed}}))
		assert.Equal(t, "started note ended", r.outcome())
		assert.Equal(t, "started note ended", d.kinds(t, "r"))
		recs := d.records(t, "r")
		assert.JSONEq(t, `{"version":3}`, string(recs[0].Data))
		assert.Equal(t, runlog.Record{
			Run: "r", Seq: 1, Kind: "note", Branch: "0.1", N: 7, Name: "flow", Hash: "hash", At: at.Round(0).UTC(), Data: json.RawMessage(`{"a":1}`),
		}, recs[1])
	})
}

func TestRecordsThatComeTooLate(t *testing.T) {
	world := []string{runlog.Slept, runlog.Expired, runlog.Answered, runlog.Canceled}
	t.Run("Started is the first one", func(t *testing.T) {
		both(t, func(t *testing.T, d *desk) {
			r := d.started(t, "r")
			require.ErrorIs(t, r.sync(runlog.Started, nil), runlog.ErrConflict)
			require.NoError(t, r.sync("note", nil))
			assert.Equal(t, "started note", d.kinds(t, "r"))
			assert.Equal(t, "started started! note", r.outcome())
		})
	})
	t.Run("nothing follows Ended", func(t *testing.T) {
		both(t, func(t *testing.T, d *desk) {
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Ended, nil))
			for _, kind := range append(world, "note", runlog.Ended, runlog.Used) {
				require.ErrorIs(t, r.sync(kind, nil), journal.ErrLate)
			}
			assert.Equal(t, "started ended", d.kinds(t, "r"))
		})
	})
	t.Run("after Stop the world is too late, and calls are not", func(t *testing.T) {
		both(t, func(t *testing.T, d *desk) {
			r := d.started(t, "r")
			for _, kind := range world {
				require.NoError(t, r.sync(kind, nil))
			}
			r.log.Stop()
			for _, kind := range world {
				require.ErrorIs(t, r.sync(kind, nil), journal.ErrLate)
			}
			for _, kind := range []string{runlog.Called, runlog.Used} {
				require.NoError(t, r.sync(kind, nil))
			}
			require.NoError(t, r.sync(runlog.Ended, nil))
			assert.Equal(t, "started slept expired answered canceled called used ended", d.kinds(t, "r"))
		})
	})
	t.Run("Stuck is no end", func(t *testing.T) {
		both(t, func(t *testing.T, d *desk) {
			r := d.started(t, "r")
			require.NoError(t, r.sync(runlog.Stuck, nil))
			require.NoError(t, r.sync(runlog.Resumed, nil))
			assert.Equal(t, "started stuck resumed", d.kinds(t, "r"))
		})
	})
	t.Run("a log that is read goes on behind its last record", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			first := d.started(t, "r")
			require.NoError(t, first.sync("note", nil))
			second := d.run("r")
			second.log.Continue(engine.Tally{Records: 2})
			require.ErrorIs(t, second.sync(runlog.Started, nil), runlog.ErrConflict)
			require.NoError(t, second.sync(runlog.Resumed, nil))
			assert.Equal(t, "started note resumed", d.kinds(t, "r"))
			require.ErrorIs(t, first.sync("note", nil), runlog.ErrConflict, "the other one is fenced off")
		})
	})
}

func TestWatch(t *testing.T) {
	isClosed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	t.Run("is closed at the next record, for all", func(t *testing.T) {
		both(t, func(t *testing.T, d *desk) {
			r := d.started(t, "r")
			one, other := r.log.Watch(), r.log.Watch()
			assert.False(t, isClosed(one))
			require.NoError(t, r.sync("note", nil))
			assert.True(t, isClosed(one))
			assert.True(t, isClosed(other))
			assert.False(t, isClosed(r.log.Watch()), "each waits for another one")
		})
	})
	t.Run("is closed by Wake", func(t *testing.T) {
		var log journal.Log
		log.Wake() // nobody watches
		c := log.Watch()
		log.Wake()
		assert.True(t, isClosed(c))
		log.Wake()
	})
	bubble(t, map[string]func(*testing.T){
		"is not closed before the record is in the store": func(t *testing.T) {
			store := newTap()
			d := newDesk(t, store)
			r := d.started(t, "r")
			release := store.hold()
			c := r.log.Watch()
			r.write("note", nil)
			synctest.Wait()
			assert.False(t, isClosed(c))
			release()
			assert.True(t, isClosed(c))
		},
	})
}

// TestOnePathForBoth writes the same records with a store and without: the same of them
// are refused, and the logs are the same.
func TestOnePathForBoth(t *testing.T) {
	kinds := rapid.SampledFrom([]string{
		runlog.Started, runlog.Started, runlog.Called, runlog.Used, runlog.Slept, runlog.Answered, runlog.Canceled,
		runlog.Asked, runlog.Stuck, "note", "note", "note", "stop", "stop", runlog.Ended,
	})
	type step struct {
		Kind string
		Run  int
	}
	steps := rapid.Custom(func(t *rapid.T) step {
		return step{kinds.Draw(t, "kind"), rapid.IntRange(0, 2).Draw(t, "run")}
	})
	rapid.Check(t, func(rt *rapid.T) {
		program := rapid.SliceOfN(steps, 1, 30).Draw(rt, "program")
		synctest.Test(t, func(t *testing.T) {
			stored, kept := newDesk(t, newTap()), newDesk(t, nil)
			ids := []string{"a", "b", "c"}
			var runs [2][]*run
			for _, id := range ids {
				runs[0], runs[1] = append(runs[0], stored.run(id)), append(runs[1], kept.run(id))
			}
			for n, s := range program {
				var errs [2]error
				for i, r := range []*run{runs[0][s.Run], runs[1][s.Run]} {
					if s.Kind == "stop" {
						r.log.Stop()
						continue
					}
					errs[i] = r.sync(s.Kind, map[string]any{"n": n})
				}
				require.Equal(t, errs[0], errs[1])
			}
			for i, id := range ids {
				require.Equal(t, runs[0][i].outcome(), runs[1][i].outcome())
				require.Equal(t, stored.records(t, id), kept.records(t, id))
				stored.kinds(t, id)
			}
		})
	})
}
