package flowtest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// drafts is the Config of a small team: a writer writes until a gate accepts its draft.
type drafts struct {
	Rules struct {
		Gate    grading.Gate[grading.Standing, grading.Decision]
		Retrier orchestrator.Retrier
	}
}

// newDrafts is the New of that team.
func newDrafts(cfg drafts) (orchestrator.Flow[string, string], error) {
	return orchestrator.Flow[string, string]{Name: "drafts", Agents: []string{"writer"}, Do: func(c *orchestrator.Context, topic string) (string, error) {
		r, err := orchestrator.Refine(c, orchestrator.Refinement[string]{
			Retrier: cfg.Rules.Retrier, GateBy: cfg.Rules.Gate,
			Try: func(c *orchestrator.Context, last orchestrator.Refined[string]) (string, error) {
				resp, err := c.Call("writer", agent.Request{Prompt: fmt.Sprint(topic, last.Tries)})
				return resp.Text, err
			},
			Grade: func(_ *orchestrator.Context, text string) (orchestrator.Verdict, error) {
				return orchestrator.Verdict{Score: float64(10 * len(text))}, nil
			},
		})
		return r.Value, err
	}}, nil
}

func draftCase() *flowtest.Case[string, string] {
	return flowtest.New(orchestrator.Flow[string, string]{}, "tea", func(t testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(t, "x", "xxx", "xxxxxx")}
	})
}

func TestRules(t *testing.T) {
	if os.Getenv("RULES_THAT_REMEMBER") != "" {
		rulesThatRemember(t)
		return
	}
	flowtest.Rules(t, func() drafts {
		var cfg drafts
		cfg.Rules.Gate, cfg.Rules.Retrier = grading.AtLeast(50), orchestrator.Attempts{Max: 3}
		return cfg
	}, newDrafts, draftCase())

	t.Run("a rule that remembers fails after a restart", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRules$")
		cmd.Env = append(os.Environ(), "RULES_THAT_REMEMBER=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "--- FAIL: TestRules/sweep")
	})
}

// rulesThatRemember has a gate that looks at what the agents of this process were asked. A
// restarted process has asked none of those that are on record.
func rulesThatRemember(t *testing.T) {
	var asked *int // of the process that was started last
	c := flowtest.New(orchestrator.Flow[string, string]{}, "tea", func(testing.TB) agent.Roster {
		return agent.Roster{"writer": agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			*asked++
			return agent.Response{Text: "xxx"}, nil
		})}
	})
	flowtest.Rules(t, func() drafts {
		n := 0
		asked = &n
		var cfg drafts
		cfg.Rules.Retrier = orchestrator.Attempts{Max: 3}
		cfg.Rules.Gate = grading.GateWith(func(grading.Standing) grading.Decision {
			if n >= 2 {
				return grading.Accept
			}
			return grading.Revise
		})
		return cfg
	}, newDrafts, c)
}
