package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/blackboard/sqlite"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

var childTask = flag.String("child", "", "the task of a child process of the tests, as JSON")

// task is what a child process does: it works on the run "run" and waits for it.
type task struct {
	DB     string // the database
	Sync   sqlite.Sync
	Calls  string // the file to which each call appends its key
	Name   string // signature of its agents' answers
	Resume bool   // take up the run that is there, not a new one
	Owners bool   // have the store tell which engines are alive
}

// What a child prints, a line each.
const (
	saysCall     = "call"       // an agent was called; it answers when it has read a byte from stdin
	saysEnd      = "end"        // the run has ended
	saysConflict = "conflict"   // another process was first with a record of the run
	saysNothing  = "left alone" // another process works on the run
)

// TestChild is the child process of the other tests.
func TestChild(t *testing.T) {
	if *childTask == "" {
		t.Skip("it is the child process of other tests")
	}
	var todo task
	require.NoError(t, json.Unmarshal([]byte(*childTask), &todo))
	says, err := todo.work(t.Context())
	require.NoError(t, err)
	_, _ = fmt.Println(says) //nolint:forbidigo // it is a program of its own
}

// work does it and returns what there is to say.
func (todo task) work(ctx context.Context) (says string, err error) {
	calls, err := os.OpenFile(todo.Calls, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, calls.Close()) }()
	file, err := sqlite.New(sqlite.Config{Path: todo.DB, Sync: todo.Sync})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	c := orchestrator.Config{
		Agents: agent.Roster{"writer": todo.noted(calls, write), "grader": todo.noted(calls, grade)},
		Flows:  []orchestrator.AnyFlow{whole, part},
		Store:  struct{ runlog.Store }{file}, // hides who is alive: a run is free for each process
	}
	if todo.Owners {
		c.Store = file
	}
	e, err := orchestrator.NewLocal(c)
	if err != nil {
		return "", err
	}
	run, err := todo.begin(ctx, e)
	if run == nil || err != nil {
		return saysNothing, err
	}
	if err := run.Wait(ctx); errors.Is(err, runlog.ErrConflict) {
		return saysConflict, nil
	} else if err != nil {
		return "", err
	}
	return saysEnd, e.Close(ctx)
}

// begin returns the run, nil if it is left to another process.
func (todo task) begin(ctx context.Context, e *orchestrator.Engine) (*orchestrator.Run, error) {
	if !todo.Resume {
		return whole.Start(ctx, e, 5, orchestrator.StartOptions{ID: "run", Budget: limits})
	}
	runs, err := e.Resume(ctx)
	if len(runs.Runs) == 0 {
		return nil, err
	}
	return runs.Runs[0], err
}

// noted makes an agent of answer whose calls are noted in the file, said, and wait.
func (todo task) noted(calls *os.File, answer func(prompt string) string) agent.Func {
	return func(ctx context.Context, req agent.Request) (agent.Response, error) {
		if _, err := fmt.Fprintln(calls, agent.InfoFrom(ctx).Key); err != nil {
			return agent.Response{}, err
		}
		_, _ = fmt.Println(saysCall) //nolint:forbidigo // it is a program of its own
		if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
			return agent.Response{}, err
		}
		return agent.Response{Text: todo.Name + answer(req.Prompt), Usage: providers.Usage{Calls: 1, Input: 7, Output: 3, Cost: 11}}, nil
	}
}

func write(prompt string) string { return "(" + prompt + ")" }

func grade(prompt string) string {
	if strings.Contains(prompt, "better") {
		return "good"
	}
	return "bad"
}

var limits = orchestrator.Budget{Calls: 100, Tokens: 1000, Cost: 10_000}

// report is what the flow makes.
type report struct {
	Texts []string // texts of the branches
	Best  orchestrator.Refined[string]
	Part  []string // result of the child run
	Sum   string
	Left  orchestrator.Budget
}

// whole has branches side by side, a wait, a refine round, a child run, and a last
// call: 18 calls if there are 5 branches.
var whole = orchestrator.Flow[int, report]{Name: "whole", Do: func(c *orchestrator.Context, branches int) (report, error) {
	var r report
	var err error
	if r.Texts, err = side(c, branches, 2); err != nil {
		return r, err
	}
	if err = c.Sleep(time.Millisecond); err != nil {
		return r, err
	}
	if r.Best, err = orchestrator.Refine(c, rounds(r.Texts[0])); err != nil {
		return r, err
	}
	if r.Part, err = part.Child(c, 3); err != nil {
		return r, err
	}
	r.Sum, err = ask(c, "writer", r.Best.Value+strings.Join(r.Part, " "))
	r.Left = c.Left()
	return r, err
}}

// part is the child run.
var part = orchestrator.Flow[int, []string]{Name: "part", Do: func(c *orchestrator.Context, branches int) ([]string, error) {
	if err := c.Sleep(time.Millisecond); err != nil {
		return nil, err
	}
	return side(c, branches, 1)
}}

// side has branches side by side, each of that many calls in turn.
func side(c *orchestrator.Context, branches, calls int) ([]string, error) {
	return orchestrator.Values(orchestrator.Map(c, make([]int, branches), 0, func(c *orchestrator.Context, _ int) (text string, err error) {
		for range calls {
			if text, err = ask(c, "writer", text); err != nil {
				return "", err
			}
		}
		return text, nil
	}))
}

// rounds are two: the second try passes.
func rounds(text string) orchestrator.Refinement[string] {
	return orchestrator.Refinement[string]{
		Attempts: 3, Gate: 80,
		Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
			return ask(c, "writer", text+last.Feedback)
		},
		Grade: func(c *orchestrator.Context, v string) (orchestrator.Verdict, error) {
			said, err := ask(c, "grader", v)
			if strings.HasSuffix(said, "good") {
				return orchestrator.Verdict{Score: 90}, err
			}
			return orchestrator.Verdict{Score: 50, Feedback: "better"}, err
		},
	}
}

func ask(c *orchestrator.Context, name, prompt string) (string, error) {
	r, err := c.Call(name, agent.Request{Prompt: prompt})
	return r.Text, err
}
