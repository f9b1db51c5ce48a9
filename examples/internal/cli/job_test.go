package cli_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/clitest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// count is a flow that asks twice and tells of both.
var count = orchestrator.Flow[string, orchestrator.Outcome]{
	Name: "count", Agents: []string{"a", "b"},
	Do: func(c *orchestrator.Context, in string) (orchestrator.Outcome, error) {
		out := orchestrator.Outcome{Status: orchestrator.Completed}
		for _, name := range []string{"a", "b"} {
			if _, err := c.Call(name, agent.Request{Prompt: in}); err != nil {
				return out, err
			}
			c.Emit("told", name)
		}
		return out, nil
	},
}

// counter is a program that performs count; b is its second agent.
func counter(b agent.Func) cli.Program {
	return func(ctx context.Context, args []string, c cli.Console) error {
		told := 0
		return cli.Perform(ctx, c, cli.Job[string, orchestrator.Outcome]{
			Settings: &cli.Settings{Program: "count", DB: args[0]}, Request: "count", Family: "count-1", Flow: count, Input: "x",
			Rehearsal: agent.Roster{
				"a": agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Text: "one"}, nil }),
				"b": b,
			},
			Lines: func(rec runlog.Record) []string {
				if rec.Kind != "told" {
					return nil
				}
				told++
				return []string{fmt.Sprintf("told %d", told)}
			},
			Outcome: func(out orchestrator.Outcome) orchestrator.Outcome { return out },
			Report: func(context.Context, *orchestrator.Run, orchestrator.Outcome) error {
				c.Print("reported\n")
				return nil
			},
			Lack: func(_ orchestrator.Outcome, err error) error { return err },
		})
	}
}

func TestResumedRunRemembersWhatWasTold(t *testing.T) {
	db := filepath.Join(t.TempDir(), "c.db")
	hang := clitest.Program{Name: "count", Run: counter(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
		<-ctx.Done()
		return agent.Response{}, ctx.Err()
	})}
	got := hang.InterruptAt(t.Context(), "told 1", db)
	assert.Equal(t, cli.Interrupted, got.Code, got.Err)
	assert.Contains(t, got.Err, "suspended run count-1 with 1 recorded answers")

	answer := clitest.Program{Name: "count", Run: counter(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: "two"}, nil
	})}
	got = answer.Start(t.Context(), db)
	assert.Equal(t, 0, got.Code, got.Err)
	assert.Contains(t, got.Out, "resumed run count-1 with 1 recorded answers")
	assert.NotContains(t, got.Out, "told 1", "that was shown before")
	assert.Contains(t, got.Out, "  told 2\nreported\n")
}

func TestFailureIsReportedAndTold(t *testing.T) {
	p := clitest.Program{Name: "count", Run: counter(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{}, errors.New("broken")
	})}
	got := p.Start(t.Context(), filepath.Join(t.TempDir(), "c.db"))
	assert.Equal(t, cli.Failed, got.Code)
	assert.Contains(t, got.Out, "reported\n")
	assert.Regexp(t, `^count: the run ended completed: .*broken \(-new starts a new run\)\n$`, got.Err)
}
