// Package info measures Run.Info on long runs:
//
//	go test -run none -bench Info ./info
package info

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// in is the number of records of a run before its question.
type in struct{ Records int }

// long is a flow that makes calls and records steps in turn, and then asks a question.
var long = orchestrator.Flow[in, int]{Name: "long", Do: func(c *orchestrator.Context, in in) (int, error) {
	for i := range in.Records / 2 {
		if _, err := c.Call(fmt.Sprint("agent", i%5), agent.Request{Prompt: "next"}); err != nil {
			return 0, err
		}
		c.Emit("step", i)
	}
	return orchestrator.Await[int](c, orchestrator.Question{Key: "n"})
}}

// agents answer with a kilobyte.
func agents() agent.Roster {
	r, text := agent.Roster{}, strings.Repeat("an answer ", 100)
	for i := range 5 {
		r[fmt.Sprint("agent", i)] = agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Text: text, Usage: providers.Usage{Calls: 1, Input: 300, Output: 200, Cost: 7}}, nil
		})
	}
	return r
}

func engine(b *testing.B, s runlog.Store, observe bool) *orchestrator.Engine {
	b.Helper()
	e, err := orchestrator.NewLocal(orchestrator.Config{
		Agents: agents(), Flows: []orchestrator.AnyFlow{long}, Store: s, Fleet: orchestrator.Fleet{Observe: observe},
	})
	check(b, err)
	b.Cleanup(func() { check(b, e.Close(context.Background())) })
	return e
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// measure measures Info by that engine.
func measure(b *testing.B, name string, e *orchestrator.Engine) {
	b.Helper()
	r, err := e.Open(b.Context(), "x")
	check(b, err)
	b.Run(name, func(b *testing.B) {
		for b.Loop() {
			if info, err := r.Info(b.Context()); err != nil || info.Spent.Calls == 0 {
				b.Fatal(info, err)
			}
		}
	})
}

// asked waits until the run has asked its question.
func asked(b *testing.B, r *orchestrator.Run) {
	b.Helper()
	for rec, err := range r.Events(b.Context(), 0) {
		check(b, err)
		if rec.Kind == runlog.Asked {
			return
		}
	}
}

// BenchmarkInfo has runs of 1,000, 10,000 and 50,000 records, in the four places where a
// run can be.
func BenchmarkInfo(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) runlog.Store{
		"no store": func(*testing.B) runlog.Store { return nil },
		"Memory":   func(*testing.B) runlog.Store { return runlog.NewMemory() },
		"SQLite": func(b *testing.B) runlog.Store {
			b.Helper()
			s, err := sqlite.New(sqlite.Config{Path: filepath.Join(b.TempDir(), "runs.db"), Sync: sqlite.Normal})
			check(b, err)
			b.Cleanup(func() { check(b, s.Close()) })
			return s
		},
	} {
		for _, n := range []int{1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { stages(b, open(b), n) })
		}
	}
}

func stages(b *testing.B, s runlog.Store, n int) {
	b.Helper()
	worker := engine(b, s, false)
	r, err := long.Start(b.Context(), worker, in{n}, orchestrator.StartOptions{ID: "x"})
	check(b, err)
	asked(b, r)
	measure(b, "own", worker)
	if s != nil {
		observer := engine(b, s, true)
		measure(b, "of another engine", observer)
		check(b, worker.Close(b.Context()))
		measure(b, "suspended", observer)
		worker = engine(b, s, false)
		_, err = worker.Resume(b.Context())
		check(b, err)
	}
	r, err = worker.Open(b.Context(), "x")
	check(b, err)
	check(b, r.Answer(b.Context(), "n", 1))
	check(b, r.Wait(b.Context()))
	measure(b, "ended", worker)
}
