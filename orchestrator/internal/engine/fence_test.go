package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/storetest/doubles"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

func TestARunThatAnotherEngineHasResumed(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"stops here at its next record": func(t *testing.T) {
			s := runlog.NewMemory()
			a := &counted{Agent: after(time.Minute)}
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			wait := begin(t, e, pair, "x")
			synctest.Wait()
			require.NoError(t, s.Beat(t.Context(), "ghost", time.Hour))
			steal(t, s, "x", "ghost")
			_, err := wait(t.Context())
			require.ErrorIs(t, err, runlog.ErrConflict)
			assert.Equal(t, int64(1), a.n.Load())
			assert.Equal(t, "started resumed", kinds(t, e, "x"), "its answers do not count")
			status(t, e, "x", engine.Running)
			assert.Equal(t, "ghost", look(t, e, "x").Owner)
		},
		"an engine that was silent too long lets go of it by itself": func(t *testing.T) {
			d := doubles.New(runlog.NewMemory())
			e := newEngine(t, driver.Config{Store: d.Store()})
			wait := begin(t, e, asker, "x")
			begin(t, e, sleeper, "y")
			synctest.Wait()
			d.Only("Beat")
			d.Fail(1 << 30)
			pause(2 * lease)
			steal(t, d.Store(), "x", "ghost")
			d.Heal()
			ctx, stop := context.WithTimeout(t.Context(), lease)
			defer stop()
			_, err := wait(ctx)
			require.ErrorIs(t, err, engine.ErrStopped)
			require.ErrorIs(t, err, runlog.ErrConflict)
			require.ErrorContains(t, err, `engine "ghost" has resumed run "x"`)
			status(t, e, "y", engine.Running)
		},
		"who waits while it is resumed looks again, and gets the end": func(t *testing.T) {
			s := newTap()
			mem := left(t, driver.Config{}, asker)
			s.Memory = mem
			require.NoError(t, mem.Beat(t.Context(), "ghost", time.Hour))
			s.on(func(_ context.Context, recs []runlog.Record) error { // just before the record that resumes it
				if recs[0].Kind == runlog.Resumed {
					s.on(nil)
					steal(t, mem, "asker", "ghost")
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
			ends := make(chan string)
			go func() {
				defer close(ends)
				end, err := e.Wait(t.Context(), "asker", nil)
				assert.NoError(t, err)
				ends <- string(end.Output)
			}()
			pause(3 * poll)
			assert.Equal(t, "started asked resumed", kinds(t, e, "asker"))
			status(t, e, "asker", engine.Running)
			require.NoError(t, mem.Leave(t.Context(), "ghost"))
			require.NoError(t, answer(t, e, "asker", "7"))
			assert.Equal(t, "7", <-ends)
		},
		"Resume does not list a run that another engine took meanwhile": func(t *testing.T) {
			s := newTap()
			mem := left(t, driver.Config{}, asker, sleeper)
			s.Memory = mem
			require.NoError(t, mem.Beat(t.Context(), "ghost", time.Hour))
			s.on(func(_ context.Context, recs []runlog.Record) error {
				if recs[0].Kind == runlog.Resumed && recs[0].Run == "asker" {
					s.on(nil)
					steal(t, mem, "asker", "ghost")
				}
				return nil
			})
			e := newEngine(t, driver.Config{Store: s, Programs: programs(asker, sleeper)})
			assert.Equal(t, []string{"sleeper"}, resume(t, e).Runs)
		},
		"two engines resume all runs, each run once": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s})
			many(t, one, asker)
			shut(t, one)
			all := make(chan []string, 4)
			for range 4 {
				e := newEngine(t, driver.Config{Store: s, Programs: programs(asker)})
				go func() {
					res, err := e.Resume(t.Context())
					assert.NoError(t, err)
					all <- res.Runs
				}()
			}
			var got []string
			for range 4 {
				got = append(got, <-all...)
			}
			assert.Len(t, got, 100)
			for _, id := range got {
				last, err := s.Last(t.Context(), id)
				require.NoError(t, err)
				assert.EqualValues(t, 2, last.Seq, "one record of a resume")
			}
		},
		"a run that ends while its log is read is not resumed": func(t *testing.T) {
			s := left(t, driver.Config{}, asker)
			last, err := s.Last(t.Context(), "asker")
			require.NoError(t, err)
			e := newEngine(t, driver.Config{Store: s})
			require.NoError(t, s.Append(t.Context(), []runlog.Record{{Run: "asker", Seq: last.Seq + 1, Kind: runlog.Ended, At: time.Now(), Data: []byte(`{"status":"completed","output":5}`)}}))
			wait, err := e.Start(t.Context(), asker.Program(), input("asker"))
			require.NoError(t, err)
			assert.Equal(t, "5", output(t, wait))
		},
	})
}
