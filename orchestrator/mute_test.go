package orchestrator_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

func TestWithoutQuestions(t *testing.T) {
	nobody := agent.Code("test/nobody-is-in")
	flow := orchestrator.Flow[int, int]{Name: "mute", Do: func(c *orchestrator.Context, _ int) (int, error) {
		mute := c.WithoutQuestions(nobody)
		for _, r := range orchestrator.Map(mute, []int{1, 2}, 0, func(c *orchestrator.Context, _ int) (bool, error) {
			return orchestrator.Await[bool](c.WithoutCancel(), orchestrator.Question{Key: "in a branch"})
		}) {
			if !errors.Is(r.Err, nobody) {
				return 0, fmt.Errorf("a branch: %w", r.Err)
			}
		}
		yes, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "asked"})
		if err != nil || !yes {
			return 0, err
		}
		return 1, nil
	}}
	c := flowtest.New(flow, 0, func(testing.TB) agent.Roster { return agent.Roster{} })
	c.Answers = map[string]any{"asked": true}
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, 1, out)
}
