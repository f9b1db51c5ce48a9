package engine_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
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

// fails is a flow that panics with that text.
func fails(text string) script[none] {
	return flow("fails", func(*orchestrator.Context) (none, error) { panic(text) })
}

// fromZero is a store that knows no numbers of records below 0.
type fromZero struct{ *runlog.Memory }

func (s fromZero) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	if from < 0 {
		return func(yield func(runlog.Record, error) bool) {
			yield(runlog.Record{}, errors.New("there is none below 0"))
		}
	}
	return s.Memory.Records(ctx, run, from)
}

func TestWhatIsLeftOfWhatIsOver(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"nothing of a stuck run that was canceled: another one may have its ID": func(t *testing.T) {
			s := runlog.NewMemory()
			one := newEngine(t, driver.Config{Store: s, Programs: programs(fails("this"))})
			_, err := begin(t, one, fails("this"), "x")(t.Context())
			require.ErrorContains(t, err, "this")
			require.NoError(t, cancel(t, one, "x"))
			two := newEngine(t, driver.Config{Store: s})
			require.NoError(t, two.Delete(t.Context(), "x"))
			_, err = begin(t, two, fails("that"), "x")(t.Context())
			require.ErrorContains(t, err, "that")
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			_, err = one.Wait(ctx, "x", nil)
			require.ErrorContains(t, err, "this")
			assert.Equal(t, "started stuck stuck", kinds(t, one, "x"), "its own flow has tried the new run")
		},
		"no reader of a watch that its caller left": func(t *testing.T) {
			s := runlog.NewMemory()
			var watched atomic.Bool
			a := agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
				for range 10 {
					<-time.After(time.Second)
					watched.Store(agent.Watched(ctx))
					agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: req.Prompt})
				}
				return agent.Response{}, nil
			})
			e := newEngine(t, driver.Config{Store: s, Agents: agent.Roster{"a": a}})
			wait := begin(t, e, pair, "x")
			for _, err := range e.Watch(t.Context(), "x") {
				require.NoError(t, err)
				assert.True(t, watched.Load())
				break
			}
			pause(2 * time.Second)
			assert.False(t, watched.Load())
			output(t, wait)
		},
	})
}

func TestALogBeginsAtZero(t *testing.T) {
	bubble(t, map[string]func(*testing.T){
		"whoever asks for what is before it has all": func(t *testing.T) {
			e := newEngine(t, driver.Config{Store: fromZero{runlog.NewMemory()}})
			begin(t, e, asker, "x")
			synctest.Wait()
			n := 0
			for rec, err := range e.Log(t.Context(), "x", -1) {
				require.NoError(t, err)
				assert.EqualValues(t, n, rec.Seq)
				n++
			}
			assert.Equal(t, 2, n)
			status(t, e, "x", engine.Waiting)
		},
	})
}
