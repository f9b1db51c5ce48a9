package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/providers"
)

// figures are what Info says of use.
type figures struct {
	Spent         providers.Usage
	Lost          orchestrator.Lost
	ByAgent       map[string]providers.Usage
	ContinuedFrom string
}

func figuresOf(i *orchestrator.Info) figures {
	return figures{i.Spent, i.Lost, i.ByAgent, i.ContinuedFrom}
}

// folded are the figures by a whole log, without anything that an engine knows.
func folded(t *testing.T, log []runlog.Record) figures {
	t.Helper()
	f := figures{ByAgent: map[string]providers.Usage{}}
	for _, rec := range log {
		var d struct {
			ContinuedFrom   string
			Usage           providers.Usage
			Response, Error struct{ Usage providers.Usage }
			Calls, Tokens   int64
			Cost            providers.NanoUSD
			Spent           providers.Usage
			Lost            orchestrator.Lost
		}
		if len(rec.Data) > 0 && rec.Data[0] == '{' {
			require.NoError(t, json.Unmarshal(rec.Data, &d))
		}
		switch rec.Kind {
		case runlog.Started:
			f.ContinuedFrom = d.ContinuedFrom
		case runlog.Called, runlog.Used:
			used := d.Usage.Add(d.Response.Usage).Add(d.Error.Usage)
			f.Spent, f.ByAgent[rec.Name] = f.Spent.Add(used), f.ByAgent[rec.Name].Add(used)
		case runlog.Lost:
			f.Lost = orchestrator.Lost{Calls: f.Lost.Calls + d.Calls, Cost: f.Lost.Cost + d.Cost, Tokens: f.Lost.Tokens + d.Tokens}
		case runlog.Ended:
			f.Spent, f.Lost = d.Spent, d.Lost
		}
	}
	return f
}

// fits fails unless Info says what the log of the run says up to one of its records, and
// none that was there before Info was called is left out.
func fits(t *testing.T, s runlog.Store, e *orchestrator.Engine, id, when string) {
	t.Helper()
	there := len(logOf(t, s, id))
	info := infoOf(t, open(t, e, id))
	got, log := figuresOf(&info), logOf(t, s, id)
	for n := there; n <= len(log); n++ {
		want := folded(t, log[:n])
		if n > 0 && log[n-1].Kind == runlog.Ended { // what comes behind the flow's end is not its own
			var sum providers.Usage
			for _, used := range got.ByAgent {
				sum = sum.Add(used)
			}
			require.Equal(t, want.Spent, sum, "%s: by agent", when)
			if folded(t, log[:n-1]).Spent != want.Spent {
				want.ByAgent = got.ByAgent
			}
		}
		if assert.ObjectsAreEqual(want, got) {
			return
		}
	}
	require.Equal(t, folded(t, log), got, "%s: run %s of %d records, %d before", when, id, len(log), there)
}

// Info is kept beside the log, and says what the log says: of every run, at any moment, on
// the engine that works on the run and on others, while that lives, after it has died,
// when another one has resumed the run, and behind the end.
func TestInfoSaysWhatTheLogSays(t *testing.T) {
	for seed := range uint64(roundtest.Of(4, 60)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) { watchFigures(t, seed) })
		})
	}
}

func watchFigures(t *testing.T, seed uint64) {
	t.Helper()
	f := flow("wild", func(c *orchestrator.Context) ([]string, error) {
		out, r := []string{}, rand.New(rand.NewPCG(seed, 5))
		for range 12 {
			orchestrator.Map(c, []uint64{r.Uint64(), r.Uint64()}, 0, func(c *orchestrator.Context, seed uint64) (int, error) {
				wild(c, rand.New(rand.NewPCG(seed, 1)), 2, &out)
				return 0, nil
			})
		}
		return out, nil
	})
	s := runlog.NewMemory()
	c := orchestrator.Config{Agents: wildAgents(), Flows: []orchestrator.AnyFlow{f, wildChild}, Fleet: lease}
	observer := local(t, orchestrator.Config{Store: s, Fleet: observing})
	r := rand.New(rand.NewPCG(seed, 9))
	now := newMortal(t, s, c)
	_, err := f.Start(t.Context(), now.Engine, none{}, orchestrator.StartOptions{ID: "x", ContinuedFrom: "w", Budget: orchestrator.Budget{Cost: 100_000}})
	require.NoError(t, err)
	look := func(when string) {
		t.Helper()
		for l, err := range s.List(t.Context(), runlog.Query{}) {
			require.NoError(t, err)
			fits(t, s, now.Engine, l.Run, when+", its engine")
			fits(t, s, observer, l.Run, when+", an observer")
		}
	}
	for range 4 {
		for range 6 {
			pause(time.Duration(r.IntN(4000)) * time.Millisecond)
			look("alive")
		}
		now.kill()
		for range 3 {
			pause(time.Duration(r.IntN(3000)) * time.Millisecond)
			fits(t, s, observer, "x", "dead")
		}
		now = newMortal(t, s, c)
		_, err := now.Resume(t.Context())
		require.NoError(t, err)
		pause(2 * time.Minute) // the dead one's lease is over
		look("resumed")
	}
	require.NoError(t, open(t, now.Engine, "x").Wait(t.Context()))
	pause(time.Hour)
	look("ended")
	require.Greater(t, len(logOf(t, s, "x")), 100)
}

// yielding counts the records that it yields.
type yielding struct {
	*runlog.Memory
	yielded atomic.Int64
}

func (s *yielding) Records(ctx context.Context, run string, from int64) iter.Seq2[runlog.Record, error] {
	return func(yield func(runlog.Record, error) bool) {
		for rec, err := range s.Memory.Records(ctx, run, from) {
			s.yielded.Add(1)
			if !yield(rec, err) {
				return
			}
		}
	}
}

// What Info reads does not grow with the log.
func TestRecordsThatInfoReads(t *testing.T) {
	n := roundtest.Of(5_000, 25_000)
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		used := providers.Usage{Calls: 1, Input: 10, Cost: 7}
		priced := agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Usage: used}, nil })
		long := flow("long", func(c *orchestrator.Context) (none, error) {
			for i := range n {
				_, _ = c.Call("a", agent.Request{})
				c.Emit("step", i)
			}
			_, err := orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
			return none{}, err
		})
		s := &yielding{Memory: runlog.NewMemory()}
		worker := newMortal(t, s, orchestrator.Config{Agents: agent.Roster{"a": priced}, Flows: []orchestrator.AnyFlow{long}, Fleet: lease})
		r, err := long.Start(t.Context(), worker.Engine, none{}, orchestrator.StartOptions{ID: "x", ContinuedFrom: "w"})
		require.NoError(t, err)
		synctest.Wait()
		observer := local(t, orchestrator.Config{Store: s, Fleet: observing})
		want := figures{providers.Usage{Calls: int64(n), Input: int64(10 * n), Cost: providers.NanoUSD(7 * n)}, orchestrator.Lost{}, nil, "w"}
		want.ByAgent = map[string]providers.Usage{"a": want.Spent}
		reads := func(e *orchestrator.Engine, most int64, when string) {
			t.Helper()
			s.yielded.Store(0)
			info := infoOf(t, open(t, e, "x"))
			assert.LessOrEqual(t, s.yielded.Load(), most, when)
			assert.Equal(t, want, figuresOf(&info), when)
		}
		reads(worker.Engine, 0, "its own engine")
		reads(observer, 128, "another engine, while that one lives")
		require.NoError(t, r.Answer(t.Context(), "n", 1))
		require.NoError(t, r.Wait(t.Context()))
		carried := 0
		for _, rec := range logOf(t, s.Memory, "x") {
			if strings.Contains(string(rec.Data), `"tally"`) {
				carried++
			}
		}
		assert.LessOrEqual(t, carried, 2*n/32+1, "a Tally is carried now and then")
		reads(worker.Engine, 1, "ended")
		reads(observer, 1, "ended, another engine")
	})
}
