package discussion_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// watched starts a run in which a role does not answer, has look see it then, and cancels
// it.
func watched(t *testing.T, cfg discussion.Config, at discussion.Role, look func(t *testing.T, r *orchestrator.Run)) (out discussion.Outcome, err error) {
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
		look(t, r)
		require.NoError(t, r.Cancel(t.Context(), "enough"))
		out, err = flow.Result(t.Context(), r)
		look(t, r)
	})
	return out, err
}

// canceledAt is the result of a run that is canceled while a role speaks, with the
// kinds of its records.
func canceledAt(t *testing.T, cfg discussion.Config, at discussion.Role) (out discussion.Outcome, kinds []string, err error) {
	t.Helper()
	out, err = watched(t, cfg, at, func(t *testing.T, r *orchestrator.Run) {
		if i, ierr := r.Info(t.Context()); ierr != nil || i.Status == orchestrator.Running {
			return
		}
		for rec, lerr := range r.Events(t.Context(), 0) {
			require.NoError(t, lerr)
			kinds = append(kinds, rec.Kind)
		}
	})
	return out, kinds, err
}

// transcript is everything that a run wrote and asked, as text.
func (p played) transcript() string {
	var b strings.Builder
	for _, rec := range p.log {
		if strings.HasPrefix(rec.Kind, "discussion.") {
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

// shaken is a Full discussion with many failures.
func shaken() debate {
	return debate{cfg: discussion.Full(nil), cast: cast{
		discussion.TeamLeader: {"go", errBoom, "two", "three", "Podcast lab"},
		discussion.Researcher: {flowtest.Hang(), "facts"},
		discussion.Ideation:   {"prose", ideas("Podcast lab"), errBoom, "no", "no", ideas("Game night")},
		discussion.Moderator:  {scores(85), scores(8, 7)},
		discussion.UICreator:  {errBoom},
	}}
}

// ends are runs for every end that the table of phases has, and every way to it.
func ends() map[string]debate {
	priced := func(text string) agent.Response {
		return agent.Response{Text: text, Usage: providers.Usage{Calls: 1, Cost: 100}}
	}
	poor := discussion.Standard(nil)
	poor.Limits.Cost = 250
	hurried := discussion.Standard(nil)
	hurried.Limits.Time = time.Minute
	hang := []any{flowtest.Hang()}
	brief, worse := discussion.Full(nil), shaken()
	brief.Rounds.Max, worse.cfg.Rounds.Max = 2, 2 // three show the same
	strict := judged(2, scores(5, 5.9))
	strict.cfg.Policy.RequireThreshold = true
	assuming := judged(2, errBoom)
	assuming.cfg.Policy.AssumeScore = new(7.0)
	reported := debate{cfg: discussion.Standard(nil)}
	reported.cfg.Rules.Report = discussion.Page
	once := judged(3, scores(7, 8))
	once.cfg.Limits.Calls = 4
	return map[string]debate{
		"completed":                           {cfg: brief},
		"completed, much goes wrong":          worse,
		"completed, the host reports":         reported,
		"completed, the leader chose":         {cfg: without(discussion.Standard(nil), discussion.Moderator), cast: cast{discussion.TeamLeader: {"Podcast lab"}}},
		"completed, no budget for the end":    limited(discussion.Standard(nil), 4),
		"partial, below the threshold":        judged(2, scores(5, 5.9)),
		"partial, none has met it":            strict,
		"partial, ungraded":                   judged(2, errBoom),
		"partial, assumed":                    assuming,
		"completed, one idea is ungraded":     judged(3, scores(7, 8)),
		"completed, graded when asked again":  judged(3, scores(7, 8), evaluations(map[string]any{"idea_id": 3, "score": 9})),
		"completed, no calls to ask again":    once,
		"partial, no choice":                  {cfg: without(discussion.Standard(nil), discussion.Moderator)},
		"partial, no ideas":                   {cfg: without(discussion.Standard(nil), discussion.Moderator, discussion.Ideation)},
		"out-of-budget, calls in a round":     limited(discussion.Full(nil), 4),
		"out-of-budget, calls for the scores": limited(discussion.Standard(nil), 3),
		"out-of-budget, money":                {cfg: poor, cast: cast{discussion.TeamLeader: {priced("go")}, discussion.Ideation: {priced(ideas("A", "B", "C"))}}},
		"out-of-budget, time in a round":      {cfg: hurried, cast: cast{discussion.Ideation: hang}},
		"out-of-budget, time for the scores":  {cfg: hurried, cast: cast{discussion.Moderator: hang}},
		"completed, no time for the end":      {cfg: hurried, cast: cast{discussion.UICreator: hang}},
		"failed, the topic is blank":          {cfg: discussion.Standard(nil), in: discussion.Input{Topic: " "}},
		"failed, kickoff":                     {cfg: discussion.Standard(nil), cast: cast{discussion.TeamLeader: {errBoom}}},
		"failed, no ideas for a moderator":    {cfg: discussion.Standard(nil), cast: cast{discussion.Ideation: {"prose"}}},
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"canceled": true} // see canceledAt
	for name, d := range ends() {
		status, _, _ := strings.Cut(name, ",")
		seen[status] = true
		t.Run("DC25 DX17 DX9 "+name, func(t *testing.T) {
			t.Parallel()
			c, _ := d.open(t)
			out, _, err := c.Run(t)
			assert.Equal(t, orchestrator.Status(status), out.Status)
			assert.Equal(t, discussion.Phase(status), out.Discussion.Phase)
			assert.Equal(t, status == "completed" || status == "partial", err == nil)
			assert.Equal(t, out.Status == orchestrator.Partial && out.FinalIdea != nil, out.FinalIdea != nil && slices.Contains(out.Unverified, out.FinalIdea.ID))
			c.Quick = !roundtest.All()
			c.Determinism(t)
			c.Sweep(t)
		})
	}
	for _, phase := range []string{"completed", "partial", "out-of-budget", "failed", "canceled"} {
		assert.True(t, seen[phase], phase)
	}
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
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

// The log has the messages, not the prompts that repeat them.
func TestLogGrowsWithTheTranscript(t *testing.T) {
	size := func(rounds int) (bytes, messages int) {
		cfg := shallow(discussion.Full(nil))
		cfg.Rounds.Max, cfg.Policy.MinIdeas = rounds, 0
		long := strings.Repeat("blah ", 200)
		p := debate{cfg: cfg, cast: cast{discussion.Researcher: {long}, discussion.Critic: {long}, discussion.Implementer: {long}}}.play(t)
		require.NoError(t, p.err)
		for _, rec := range p.log {
			if rec.Kind != runlog.Ended { // the outcome: the transcript once
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
		for _, e := range p.events(t, discussion.EventMessageAdded) {
			added = append(added, *e.Message)
		}
		assert.Equal(t, p.out.Discussion.Messages, added)
	})
	t.Run("DX16 DC24 every warning is in a record, and none is a message", func(t *testing.T) {
		p := shaken().play(t)
		var raised []orchestrator.Warning
		for _, e := range p.events(t, team.WarningRaised.Of("discussion")) {
			raised = append(raised, *e.Warning)
		}
		assert.Equal(t, p.out.Warnings, raised)
		for _, m := range p.out.Discussion.Messages {
			assert.NotEqual(t, discussion.System, m.From)
		}
		assert.NotEmpty(t, raised)
	})
	t.Run("D6 phases in order", func(t *testing.T) {
		p := debate{cfg: discussion.Full(nil)}.play(t)
		var phases []discussion.Phase
		for _, e := range p.events(t, discussion.EventPhaseStarted) {
			phases = append(phases, e.Phase)
		}
		assert.Equal(t, []discussion.Phase{
			"kickoff", "exploring", "validating", "selecting", "visualizing", "completed",
		}, phases)
	})
}

// stateAt is what a run exposes while a role speaks.
func stateAt(t *testing.T, cfg discussion.Config, at discussion.Role) (s discussion.State) {
	t.Helper()
	cfg.Bounds.CallTimeout = time.Hour
	_, _ = watched(t, cfg, at, func(t *testing.T, r *orchestrator.Run) {
		if s.Phase == "" {
			require.NoError(t, r.State(t.Context(), &s))
		}
	})
	return s
}
