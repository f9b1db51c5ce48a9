package research_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

// With scores that are uniform from 0 to 1, a run of at most n iterations returns the first
// one that meets the threshold x, which is (1+x)/2 in the mean, or else the best of n below
// x, which is x·n/(n+1). Instead of dice, runs have all combinations of the middles of equal
// parts of the scale: their mean is that of the distribution but for the width of a part.
func TestBestOfIsItsClosedForm(t *testing.T) {
	t.Parallel()
	const x, n, parts = 0.8, 3, 10
	flow, err := research.New(research.Config{Policy: research.Policy{MinShare: orchestrator.None}, Workers: []research.Worker{{ID: "author", Category: research.Writing, Critical: true}}})
	require.NoError(t, err)
	says := func(answer func() any) agent.Agent {
		return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
			return agent.Response{Data: agent.JSON(answer())}, nil
		})
	}
	left := 0 // digits of the run's combination that no iteration had
	eng := orchestrator.Local(agent.Roster{
		"planner": says(func() any { return map[string]any{"complexity": 0, "steps": []step{sequential("writing", "author")}} }),
		"author":  says(func() any { return research.Draft{Content: "text"} }),
		"supervisor": says(func() any {
			digit := left % parts
			left /= parts
			return marks((float64(digit) + 0.5) / parts)
		}),
	})
	sum, passed := 0.0, 0.0
	runs := int(math.Pow(parts, n))
	for combination := range runs {
		left = combination
		out, err := flow.Run(t.Context(), eng, research.Input{Topic: "x", MinQuality: new(x)})
		require.NoError(t, err)
		sum += *out.Score
		if out.Status == orchestrator.Completed {
			passed++
		}
	}
	missed := math.Pow(x, n)
	assert.InDelta(t, 1-missed, passed/float64(runs), 1e-9)
	assert.InDelta(t, (1-missed)*(1+x)/2+missed*x*n/(n+1), sum/float64(runs), 0.002)
}
