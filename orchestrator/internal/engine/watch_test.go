package engine_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	driver "github.com/convene-go/convene/orchestrator/internal/engine"
)

func TestChanged(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"returns when there is a record, or the run has ended": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": after(time.Minute)}})
			began := time.Now()
			begin(t, e, pair, "x")
			for from, want := range []time.Duration{0, time.Minute, 2 * time.Minute, 2 * time.Minute, 2 * time.Minute} {
				require.NoError(t, e.Changed(t.Context(), "x", int64(from)))
				assert.Equal(t, want, time.Since(began), strconv.Itoa(from))
			}
			n := 0
			for rec, err := range e.Log(t.Context(), "x", 2) {
				require.NoError(t, err)
				assert.EqualValues(t, 2+n, rec.Seq)
				n++
			}
			assert.Equal(t, 2, n)
		},
		"or when its ctx is done": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s})
			begin(t, e, sleeper, "x")
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			require.ErrorIs(t, e.Changed(ctx, "x", 1), context.DeadlineExceeded)
		},
	})
}

// talks reports twice, a minute apart.
var talks = agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
	for range 2 {
		agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: req.Prompt})
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return agent.Response{}, context.Cause(ctx)
		}
	}
	return agent.Response{Text: req.Prompt}, nil
})

func TestWatch(t *testing.T) {
	everywhere(t, map[string]func(*testing.T, runlog.Store){
		"a run and its children, to the end": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				<-time.After(time.Second)
				return talks(ctx, req)
			})}})
			begin(t, e, over, "x")
			var got []string
			for p, err := range e.Watch(t.Context(), "x") {
				require.NoError(t, err)
				got = append(got, p.Text)
			}
			assert.Equal(t, []string{"one", "one", "two", "two"}, got)
			status(t, e, "x", engine.Completed)
			for _, err := range e.Watch(t.Context(), "x") {
				require.NoError(t, err)
				break // it has ended
			}
		},
		"until it is stuck, or its reader has enough": func(t *testing.T, s runlog.Store) {
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": talks}})
			begin(t, e, broken, "x")
			n := 0
			for _, err := range e.Watch(t.Context(), "x") {
				require.NoError(t, err)
				n++
			}
			assert.Positive(t, n)
			begin(t, e, pair, "y")
			for _, err := range e.Watch(t.Context(), "y") {
				require.NoError(t, err)
				break
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			for _, err := range e.Watch(ctx, "y") {
				require.NoError(t, err)
			}
		},
	})
	bubble(t, map[string]func(*testing.T){
		"by another engine": func(t *testing.T) {
			s := runlog.NewMemory()
			e, o := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": talks}}), newEngine(t, driver.Config{Store: s, Fleet: driver.Fleet{Observe: true}})
			begin(t, e, flow("f", func(c *orchestrator.Context) (string, error) {
				if err := c.Sleep(time.Second); err != nil {
					return "", err
				}
				return ask(c, "one")
			}), "x")
			synctest.Wait() // the engine listens to others
			n := 0
			for p, err := range o.Watch(t.Context(), "x") {
				require.NoError(t, err)
				assert.Equal(t, "one", p.Text)
				n++
			}
			assert.Equal(t, 2, n)
		},
		"of a run that no engine works on": func(t *testing.T) {
			s := left(t, driver.Config{}, sleeper)
			e := newEngine(t, driver.Config{Store: s})
			n := 0
			for _, err := range e.Watch(t.Context(), "sleeper") {
				require.ErrorIs(t, err, engine.ErrStopped)
				n++
			}
			assert.Equal(t, 1, n)
		},
		"goes on with the engine that resumes the run": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": hang}})
			begin(t, one, pair, "x")
			synctest.Wait() // the engine listens to others
			slow := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				<-time.After(time.Second)
				return talks(ctx, req)
			})
			two := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": slow}, Programs: programs(pair)})
			resume(t, two)
			time.AfterFunc(10*time.Second, func() { _ = one.Close(context.WithoutCancel(t.Context()), false) })
			n := 0
			for _, err := range two.Watch(t.Context(), "x") {
				require.NoError(t, err)
				n++
			}
			assert.Equal(t, 4, n)
		},
	})
}
