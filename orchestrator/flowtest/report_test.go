package flowtest_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// A case reports to a *testing.T, so a case that must fail is run in a process of its
// own, as TestFailing.
var failing = flag.String("flowtest.failing", "", "the faulty case that TestFailing runs")

func TestFailing(t *testing.T) {
	if *failing == "" {
		return
	}
	name, how, _ := strings.Cut(*failing, "/")
	if how == "Bubble" {
		flowtest.Bubble(t, bubbles[name])
		return
	}
	switch c := faulty[name](); how {
	case "Run":
		_, _, _ = c.Run(t)
	case "Sweep":
		c.Sweep(t)
	case "Determinism":
		c.Determinism(t)
	}
}

// bubbles are tests that wait for nothing.
var bubbles = map[string]func(t *testing.T){
	"deadlock": func(t *testing.T) {
		t.Log("begun")
		<-make(chan int)
	},
	"left": func(*testing.T) {
		go func() { <-make(chan int) }()
	},
	"panic": func(t *testing.T) {
		defer func() { assert.Equal(t, "ouch", recover()) }()
		panic("ouch")
	},
}

// report is what a faulty case prints. It must fail.
func report(t *testing.T, name, how string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFailing$", "-flowtest.failing="+name+"/"+how)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "it did not fail:\n%s", out)
	require.NotContains(t, string(out), "panic:", "it died")
	return string(out)
}

type faultyCase = *flowtest.Case[int, string]

// asks calls an agent twice with what line gives.
func asks(line func(c *orchestrator.Context) string) faultyCase {
	f := orchestrator.Flow[int, string]{Name: "faulty", Do: func(c *orchestrator.Context, _ int) (string, error) {
		var said []string
		for range 2 {
			resp, err := c.Call("writer", agent.Request{Prompt: line(c)})
			if err != nil {
				return "", err
			}
			said = append(said, resp.Text)
		}
		return strings.Join(said, " "), nil
	}}
	return flowtest.New(f, 0, func(tb testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(tb).On("", "fine")}
	})
}

// asksBy is asks with other agents.
func asksBy(agents func(tb testing.TB) agent.Roster) faultyCase {
	f := orchestrator.Flow[int, string]{Name: "faulty", Do: func(c *orchestrator.Context, _ int) (string, error) {
		for i := range 3 {
			if _, err := c.Call("writer", agent.Request{Prompt: fmt.Sprint("line ", i)}); err != nil {
				return "", err
			}
		}
		resp, err := c.Call("writer", agent.Request{Prompt: "the last line"})
		return resp.Text, err
	}}
	return flowtest.New(f, 0, agents)
}

var runs atomic.Int64 // what no flow may change

// varied gives what out makes of the answer of a child.
func varied(out func(string) string) faultyCase {
	inner := orchestrator.Flow[int, string]{Name: "inner", Do: func(c *orchestrator.Context, _ int) (string, error) {
		resp, err := c.Call("writer", agent.Request{Prompt: "the same"})
		return resp.Text, err
	}}
	outer := orchestrator.Flow[int, string]{Name: "varied", Do: func(c *orchestrator.Context, n int) (string, error) {
		for range 10 {
			c.Emit("step", nil)
		}
		text, err := inner.Child(c, n)
		return out(text), err
	}}
	return flowtest.New(outer, 0, func(tb testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(tb).On("", "fine")}
	})
}

var faulty = map[string]func() faultyCase{
	"hedge": func() faultyCase { return hedges(1500*time.Millisecond, orchestrator.Budget{}) },
	"clock": func() faultyCase {
		return asks(func(*orchestrator.Context) string { return fmt.Sprint("it is ", time.Now().UnixNano()) })
	},
	"map": func() faultyCase {
		return asks(func(*orchestrator.Context) string {
			words := map[int]string{}
			for i := range 100 {
				words[i] = fmt.Sprint(i)
			}
			return strings.Join(slices.Collect(maps.Values(words)), " ")
		})
	},
	"dice": func() faultyCase {
		return asks(func(*orchestrator.Context) string { return fmt.Sprint("roll ", rand.Int64()) }) //nolint:gosec // on purpose
	},
	"variable": func() faultyCase {
		return asks(func(*orchestrator.Context) string { return fmt.Sprint("run ", runs.Add(1)) })
	},
	"panic": func() faultyCase { return asks(func(*orchestrator.Context) string { panic("ouch") }) },
	"emission": func() faultyCase {
		var first atomic.Bool // process of a run
		c := asks(func(c *orchestrator.Context) string {
			if first.Swap(false) {
				c.Emit("sometimes", nil)
			}
			return "x"
		})
		c.Store = func(testing.TB) runlog.Store {
			first.Store(true)
			return runlog.NewMemory()
		}
		return c
	},
	"question": func() faultyCase {
		return asks(func(c *orchestrator.Context) string {
			_, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "proceed?"})
			return fmt.Sprint(err)
		})
	},
	"unused": func() faultyCase {
		return asksBy(func(tb testing.TB) agent.Roster {
			return agent.Roster{"writer": flowtest.NewScript(tb, "1", "2", "3", "4", "an answer too many")}
		})
	},
	"unexpected": func() faultyCase {
		return asksBy(func(tb testing.TB) agent.Roster { return agent.Roster{"writer": flowtest.NewScript(tb, "1", "2")} })
	},
	"moody": func() faultyCase {
		return asksBy(func(testing.TB) agent.Roster {
			n := 0
			return agent.Roster{"writer": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				n++
				return agent.Response{Text: fmt.Sprint("answer ", n)}, nil
			})}
		})
	},
	"moody error": func() faultyCase {
		return asksBy(func(testing.TB) agent.Roster {
			n := 0
			return agent.Roster{"writer": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				n++
				if n > 3 {
					return agent.Response{}, fmt.Errorf("error %d", n)
				}
				return agent.Response{}, nil
			})}
		})
	},
	"fatal agent": func() faultyCase {
		return asksBy(func(tb testing.TB) agent.Roster {
			return agent.Roster{"writer": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				tb.FailNow()
				return agent.Response{}, nil
			})}
		})
	},
	"fatal flow": func() faultyCase {
		return asks(func(*orchestrator.Context) string {
			runtime.Goexit()
			return ""
		})
	},
	"channel": func() faultyCase {
		return asks(func(*orchestrator.Context) string { return <-make(chan string) })
	},
	"goroutine": func() faultyCase {
		return asks(func(c *orchestrator.Context) string {
			var wg sync.WaitGroup
			wg.Go(func() { <-make(chan int) })
			_ = c.Sleep(time.Second)
			wg.Wait()
			return ""
		})
	},
	"output": func() faultyCase {
		return varied(func(out string) string { return fmt.Sprint(out, " ", runs.Add(1)) })
	},
	"child": func() faultyCase {
		kid := orchestrator.Flow[int, string]{Name: "kid", Do: func(c *orchestrator.Context, _ int) (string, error) {
			resp, err := c.Call("writer", agent.Request{Prompt: fmt.Sprint("first\nkid ", runs.Add(1), "\nlast")})
			if err == nil {
				resp, err = c.Call("writer", agent.Request{Prompt: "second"})
			}
			return resp.Text, err
		}}
		return asks(func(c *orchestrator.Context) string {
			text, _ := kid.Child(c, 0)
			return text
		})
	},
	"no agent": func() faultyCase {
		c := asks(func(*orchestrator.Context) string { return "" })
		c.Config.Parallel = -1
		return c
	},
	"garbling store": func() faultyCase {
		return onStore(func(testing.TB) runlog.Store { return garbling{runlog.NewMemory()} })
	},
	"used store": func() faultyCase {
		one := runlog.NewMemory()
		return onStore(func(testing.TB) runlog.Store { return one })
	},
}

// onStore is a case on another store.
func onStore(open func(tb testing.TB) runlog.Store) faultyCase {
	c := asks(func(*orchestrator.Context) string { return "x" })
	c.Store = open
	return c
}

// garbling is a store that changes what agents answered.
type garbling struct{ runlog.Store }

func (g garbling) Append(ctx context.Context, recs []runlog.Record) error {
	recs = slices.Clone(recs)
	for i, rec := range recs {
		if rec.Kind == runlog.Called {
			recs[i].Data = bytes.ReplaceAll(rec.Data, []byte("fine"), []byte("fire"))
		}
	}
	return g.Store.Append(ctx, recs)
}

// What the kit is for: it finds flows that would not survive a restart, and says
// where and what.
func TestReports(t *testing.T) {
	tests := []struct {
		name, how string
		wants     []string
	}{
		{"clock", "Sweep", []string{"killed_behind_record_2", "the run did not end", "diverged", `call case/0 of agent "writer" is asked in other words`, "- it is 9466848", "+ it is 9466848"}},
		{"map", "Sweep", []string{"behind_record", "diverged", `of agent "writer" is asked in other words`}},
		{"dice", "Sweep", []string{"killed_behind_record_2", "diverged"}},
		{"variable", "Sweep", []string{"killed_behind_record_2", "diverged", "- run ", "+ run "}},
		{"emission", "Sweep", []string{"diverged", `"sometimes"`, "did not do again"}},
		{"clock", "Determinism", []string{"seed_0", "the replay did not end", "diverged", "- it is 9466848", "+ it is 9466848"}},
		{"map", "Determinism", []string{"seed_", "diverged"}},
		{"dice", "Determinism", []string{"seed_0", "diverged"}},
		{"variable", "Determinism", []string{"seed_0", "diverged"}},
		{"panic", "Run", nil},
		{"panic", "Sweep", []string{"the run did not end", "ouch"}},
		{"panic", "Determinism", []string{"the run did not end", "ouch"}},
		{"question", "Run", []string{`the question "proceed?" has no answer in Case.Answers, and no time limit`}},
		{"question", "Sweep", []string{`the question "proceed?" has no answer in Case.Answers`}},
		{"unused", "Run", []string{"script: 1 of 5 answers were never asked for", `"an answer too many"`}},
		{"unexpected", "Run", []string{`script of agent "writer": call 3 (case/2) was not expected`, `"line 2"`}},
		{"unexpected", "Sweep", []string{"was not expected"}},
		{"moody", "Sweep", []string{"the result differs", `$: "answer 4" uninterrupted, "answer 5" resumed`}},
		{"moody error", "Sweep", []string{"the error differs", "uninterrupted: error 4", "resumed: error 5"}},
		{"fatal agent", "Run", []string{`agent "writer" ended its goroutine in call case/0 at report_test.go:`}},
		{"fatal flow", "Run", []string{"the flow ended its goroutine at report_test.go:"}},
		{"channel", "Run", []string{"the run hangs", "a branch of the flow is blocked in chan receive at report_test.go:"}},
		{"goroutine", "Run", []string{"the run hangs", "a goroutine that the flow started by WaitGroup.Go waits in chan receive at report_test.go:", "a branch of the flow is blocked in WaitGroup.Wait at report_test.go:", "a flow starts no goroutines"}},
		{"output", "Sweep", []string{"the result differs", `$: "fine `, "50 runs failed: the sweep ends behind record"}},
		{"output", "Determinism", []string{`record 12, "ended" of case/0 (varied), differs:`, `$.output: "fine `, "in its replay"}},
		{"child", "Sweep", []string{"diverged", `call case/0/0 of agent "writer" is asked in other words`, "- kid ", "+ kid "}},
		{"deadlock", "Bubble", []string{"begun", "deadlock: all goroutines in bubble are blocked"}},
		{"left", "Bubble", []string{"deadlock: main bubble goroutine has exited but blocked goroutines remain", "a goroutine that was started at report_test.go:", "waits in chan receive at report_test.go:"}},
		{"garbling store", "Sweep", []string{"the result differs", `$: "fine fine" uninterrupted, "fire fine" resumed`}},
		{"garbling store", "Determinism", []string{`"ended" of case/0 (faulty), differs:`, `$.output: "fine fine" in the run, "fire fire" in its replay`}},
		{"used store", "Sweep", []string{`Case.Store opened a store that holds the runs ["case"], want an empty one`}},
		{"no agent", "Run", []string{"the engine of the case", "Config.Parallel is -1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.how, func(t *testing.T) {
			if tt.wants == nil {
				_, _, err := faulty[tt.name]().Run(t)
				require.ErrorIs(t, err, orchestrator.ErrFlow, "Run hands the error out, and fails nothing")
				return
			}
			out := report(t, tt.name, tt.how)
			for _, want := range tt.wants {
				assert.True(t, strings.Contains(out, want), "the report has no %q:\n%.4000s", want, out)
			}
		})
	}
}
