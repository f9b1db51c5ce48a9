package discussion_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// canceledAt is what becomes of a run that is canceled while a role speaks.
func canceledAt(t *testing.T, cfg discussion.Config, at discussion.Role) (out discussion.Outcome, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		roster := agent.Roster{}
		for _, m := range cfg.Team {
			answer := lines(m.Role)[0]
			if m.Role == at {
				answer = flowtest.Hang()
			}
			roster[m.Agent] = flowtest.NewScript(t).On("", answer)
		}
		flow, ferr := discussion.New(cfg)
		require.NoError(t, ferr)
		e, eerr := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, eerr)
		defer func() { _ = e.Close(context.WithoutCancel(t.Context())) }()
		r, serr := flow.Start(t.Context(), e, discussion.Input{Topic: topic}, orchestrator.StartOptions{})
		require.NoError(t, serr)
		synctest.Wait()
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		out, err = flow.Result(t.Context(), r)
	})
	return out, err
}

// transcript is everything that a run wrote and asked, as text.
func (p played) transcript() string {
	var b strings.Builder
	for _, rec := range p.log {
		if strings.Contains(rec.Kind, ".") || rec.Kind == "warning" {
			fmt.Fprintf(&b, "%s %s\n", rec.Kind, rec.Data)
		}
	}
	for i, c := range p.asked {
		fmt.Fprintf(&b, "\n=== call %d, %s\n%s\n", i+1, c.role, c.req.Prompt)
	}
	return b.String()
}

func TestTranscripts(t *testing.T) {
	for name, cfg := range map[string]discussion.Config{
		"standard": discussion.Standard(nil), "extended": discussion.Extended(nil), "full": discussion.Full(nil),
	} {
		t.Run("DA41 DX9 DX19 transcript of the preset "+name, func(t *testing.T) {
			p := debate{cfg: cfg}.play(t)
			require.NoError(t, p.err)
			golden(t, name+".txt", p.transcript())
		})
	}
}

// shaken is a Full discussion in which much goes wrong.
func shaken() debate {
	return debate{cfg: discussion.Full(nil), cast: cast{
		discussion.TeamLeader: {"go", errBoom, "two", "three", "Podcast lab"},
		discussion.Researcher: {flowtest.Hang(), "facts"},
		discussion.Ideation:   {"prose", ideas("Podcast lab"), errBoom, "no", "no", ideas("Game night")},
		discussion.Moderator:  {scores(85), scores(8, 7)},
		discussion.UICreator:  {errBoom},
	}}
}

func TestCrashes(t *testing.T) {
	t.Run("DX17 killed behind every record of Full", func(t *testing.T) {
		c, _ := debate{cfg: discussion.Full(nil)}.open(t)
		c.Sweep(t)
	})
	t.Run("DX17 killed behind every record, much goes wrong", func(t *testing.T) {
		c, _ := shaken().open(t)
		c.Sweep(t)
	})
	t.Run("DX17 killed behind every record, fails", func(t *testing.T) {
		c, _ := debate{cfg: discussion.Standard(nil), cast: cast{discussion.Moderator: {errBoom}}}.open(t)
		c.Sweep(t)
	})
}

func TestDeterminism(t *testing.T) {
	t.Run("DX9 any latency", func(t *testing.T) {
		c, _ := shaken().open(t)
		c.Determinism(t)
	})
}

func TestSideBySide(t *testing.T) {
	t.Run("DX18 100 discussions of one configured value", func(t *testing.T) {
		flow, err := discussion.New(discussion.Full(nil))
		require.NoError(t, err)
		roster := agent.Roster{}
		for _, m := range discussion.Full(nil).Team {
			roster[m.Agent] = flowtest.NewScript(t).On("", lines(m.Role)[0])
		}
		e, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				out, err := flow.Run(t.Context(), e, discussion.Input{Topic: fmt.Sprint("topic ", i)})
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprint("topic ", i), out.Discussion.Topic)
				assert.Len(t, out.Discussion.Messages, 25)
			})
		}
		wg.Wait()
		require.NoError(t, e.Close(t.Context()))
	})
}

// The log holds what was said, not what everybody was given to read.
func TestLogGrowsWithTheTranscript(t *testing.T) {
	size := func(rounds int) (bytes, messages int) {
		cfg := shallow(discussion.Full(nil))
		cfg.MaxRounds, cfg.MinIdeas = rounds, 0
		long := strings.Repeat("blah ", 200)
		p := debate{cfg: cfg, cast: cast{discussion.Researcher: {long}, discussion.Critic: {long}, discussion.Implementer: {long}}}.play(t)
		require.NoError(t, p.err)
		for _, rec := range p.log {
			if rec.Kind != blackboard.Ended { // the outcome: the transcript once
				bytes += len(rec.Data)
			}
		}
		return bytes, len(p.out.Discussion.Messages)
	}
	small, n := size(4)
	large, m := size(40)
	require.Greater(t, m, 200)
	t.Run("D38 DX19 a transcript of 200 messages costs O(n) in log bytes", func(t *testing.T) {
		assert.InDelta(t, float64(small)/float64(n), float64(large)/float64(m), float64(small)/float64(n)/4, "bytes a message")
	})
}

func TestEvents(t *testing.T) {
	t.Run("DX19 every message is in a record as it is added", func(t *testing.T) {
		p := debate{cfg: discussion.Full(nil)}.play(t)
		var added []discussion.Message
		for _, e := range p.events(t, "message.added") {
			added = append(added, *e.Message)
		}
		assert.Equal(t, p.out.Discussion.Messages, added)
	})
	t.Run("DX16 every warning is in a record", func(t *testing.T) {
		p := shaken().play(t)
		for _, w := range p.out.Warnings {
			assert.NotEmpty(t, p.events(t, w.Code), w.Code)
		}
		assert.NotEmpty(t, p.out.Warnings)
	})
	t.Run("D6 phases in order", func(t *testing.T) {
		p := debate{cfg: discussion.Full(nil)}.play(t)
		var phases []discussion.Phase
		for _, e := range p.events(t, "phase.started") {
			phases = append(phases, e.Phase)
		}
		assert.Equal(t, []discussion.Phase{
			discussion.Kickoff, discussion.Exploring, discussion.Validating, discussion.Selecting, discussion.Visualizing, discussion.Completed,
		}, phases)
	})
}
