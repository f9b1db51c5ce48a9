package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

type nothing struct{}

// manyCalls is a flow of n calls one after the other, which then asks a question.
func manyCalls(n int) orchestrator.Flow[nothing, nothing] {
	return orchestrator.Flow[nothing, nothing]{Name: "calls", Do: func(c *orchestrator.Context, _ nothing) (nothing, error) {
		for range n {
			if _, err := c.Call("a", agent.Request{Prompt: "a prompt"}); err != nil {
				return nothing{}, err
			}
		}
		_, err := orchestrator.Await[string](c, orchestrator.Question{Key: "k"})
		return nothing{}, err
	}}
}

// says is an agent that says text.
func says(text string) agent.Roster {
	return agent.Roster{"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: text}, nil
	})}
}

// BenchmarkResume resumes a run of 111,000 records. It is to take at most 1.5 s.
func BenchmarkResume(b *testing.B) {
	const records = 111_000
	f, memory := manyCalls(records), runlog.NewMemory()
	e := engineFor(b, orchestrator.Config{Agents: says("an answer"), Store: memory})
	r, err := f.Start(b.Context(), e, nothing{}, orchestrator.StartOptions{ID: "r"})
	must(b, err)
	for rec, err := range r.Events(b.Context(), 0) {
		must(b, err)
		if rec.Kind == runlog.Asked {
			break
		}
	}
	must(b, e.Close(b.Context()))
	var log []runlog.Record
	for rec, err := range memory.Records(b.Context(), "r", 0) {
		must(b, err)
		log = append(log, rec)
	}
	stores := map[string]func(b *testing.B) runlog.Store{
		"memory": func(*testing.B) runlog.Store { return runlog.NewMemory() },
		"SQLite": file,
	}
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := open(b)
				for from := 0; from < len(log); from += 1000 {
					must(b, s.Append(b.Context(), log[from:min(from+1000, len(log))]))
				}
				e := engineFor(b, orchestrator.Config{Agents: says("an answer"), Flows: []orchestrator.AnyFlow{f}, Store: s})
				b.StartTimer()
				_, err := e.Resume(b.Context())
				must(b, err)
				b.StopTimer()
				must(b, e.Close(b.Context()))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkLargeAnswer records an answer of 50 MB. It is to take at most 1 s, and at most
// 3 times its size of memory beside the answer itself.
func BenchmarkLargeAnswer(b *testing.B) {
	const size = 50 << 20
	text := strings.Repeat("A line of an answer, with \"quotes\".\n", size/36)
	f := orchestrator.Flow[nothing, nothing]{Name: "large", Do: func(c *orchestrator.Context, _ nothing) (nothing, error) {
		_, err := c.Call("a", agent.Request{})
		return nothing{}, err
	}}
	for name, open := range map[string]func(b *testing.B) runlog.Store{"memory": func(*testing.B) runlog.Store { return nil }, "SQLite": file} {
		b.Run(name, func(b *testing.B) {
			most := 0.0
			for b.Loop() {
				b.StopTimer()
				e := engineFor(b, orchestrator.Config{Agents: says(text), Store: open(b)})
				forgetPeak()
				before := peak()
				b.StartTimer()
				_, err := f.Run(b.Context(), e, nothing{})
				must(b, err)
				b.StopTimer()
				most = max(most, float64(peak()-before)/size)
				must(b, e.Close(b.Context()))
				b.StartTimer()
			}
			b.ReportMetric(most, "x-its-size")
		})
	}
}

// forgetPeak has peak begin anew.
func forgetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // where there is none, peak is 0
}

// peak returns the most memory of this process since forgetPeak; 0: it is not known.
func peak() (bytes int) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(rest, &bytes)
	return bytes << 10
}

func file(b *testing.B) runlog.Store {
	b.Helper()
	s, err := sqlite.Open(filepath.Join(b.TempDir(), "runs.db"))
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return s
}

func engineFor(b *testing.B, c orchestrator.Config) *orchestrator.Engine {
	b.Helper()
	e, err := orchestrator.NewLocal(c)
	must(b, err)
	return e
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
