package hierarchy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/roundtest"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// dice draws random teams, requests and answers.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// figure is nil, or one of values.
func (d dice) figure(nilPercent int, values ...float64) *float64 {
	if d.chance(nilPercent) {
		return nil
	}
	return &values[d.IntN(len(values))]
}

func (d dice) config() hierarchy.Config {
	cfg := hierarchy.Config{Policy: hierarchy.Policy{
		Attempts: d.IntN(4), HeadAttempts: d.IntN(4), SynthesisRounds: d.IntN(3),
		HeadOnlyScore: d.figure(60, 0, 70, 100), AssumeScore: d.figure(75, 0, 60, 75),
		StrictReview: d.chance(25), GradeHeads: d.chance(40),
	}}
	cfg.Bounds.ParallelDepartments, cfg.Bounds.ParallelSpecialists = d.IntN(3), d.IntN(3)
	for i := range 1 + d.IntN(4) {
		own := hierarchy.Department{
			ID: fmt.Sprintf("d%d", i), Head: fmt.Sprintf("head%d", i), Priority: d.IntN(3), Base: d.IntN(30), Attempts: d.IntN(3),
			Keywords: map[string]int{"hat": d.IntN(80), "shoe": d.IntN(80)}, MinQuality: d.figure(40, 0, 50, 80), Serial: d.chance(20),
		}
		for j := range i {
			if d.chance(30) {
				own.DependsOn = append(own.DependsOn, fmt.Sprintf("d%d", j))
			}
		}
		for j := range d.IntN(6) {
			own.Agents = append(own.Agents, hierarchy.Agent{
				ID: fmt.Sprintf("s%d-%d", i, j), Inactive: d.chance(15), SuccessRate: d.figure(40, 0, 50, 90), Attempts: d.IntN(4),
				PassingThreshold: d.figure(30, 0, 15, 60, 65, 75, 95, 100),
			})
		}
		cfg.Departments = append(cfg.Departments, own)
	}
	return cfg
}

func (d dice) input() hierarchy.Input {
	prompts := []string{"a hat", "a shoe and a detailed hat", "nothing", "detailed", strings.TrimSpace("hat" + strings.Repeat(" bold", 49+60*d.IntN(2)))}
	in := hierarchy.Input{Prompt: prompts[d.IntN(len(prompts))]}
	if d.chance(30) {
		in.RequiresSpecialists = new(d.chance(70))
	}
	return in
}

// answer is what an agent says to one call.
func (d dice) answer(name string, call int) spoken {
	switch n := d.IntN(100); {
	case n < 15:
		return spoken{text: "error"}
	case n < 22:
		return spoken{}
	case n < 27:
		return spoken{text: "null"}
	}
	s := spoken{score: []int{0, 14, 15, 39, 40, 59, 60, 65, 70, 75, 85, 90, 95, 100}[d.IntN(14)]}
	if d.chance(12) {
		s.score = -1
	}
	s.text = fmt.Sprintf("%d|%s|%d|", s.score, name, call) + strings.Repeat(".", d.IntN(2)*d.IntN(250))
	return s
}

// answers are the same for the same call of an agent, whoever asks.
type answers struct {
	sync.Mutex
	seed uint64
	said map[string]int
}

func (a *answers) says(name string, call int) spoken {
	var of uint64
	for _, b := range []byte(name) {
		of = of*31 + uint64(b)
	}
	return dice{rand.New(rand.NewPCG(a.seed, of<<8+uint64(call)))}.answer(name, call)
}

func (a *answers) agent(name string) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		a.Lock()
		defer a.Unlock()
		said := a.says(name, a.said[name])
		a.said[name]++
		if said.text == "error" {
			return agent.Response{}, errors.New("no connection")
		}
		return agent.Response{Text: said.text}, nil
	})
}

// byText grades by the score in the text; -1 is no grade.
var byText = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (g hierarchy.Grade, err error) {
	score := 0.0
	if _, err = fmt.Sscanf(hierarchy.Text(w.Output), "%f|", &score); err == nil && score < 0 {
		err = errors.New("no idea")
	}
	g.Score = &score
	return g, err
})

// TestRandomRuns compares runs with a second implementation.
func TestRandomRuns(t *testing.T) {
	statuses := map[orchestrator.Status]int{}
	for seed := range uint64(roundtest.Of(100, 1000)) {
		d := dice{rand.New(rand.NewPCG(seed, 0))}
		m := &model{cfg: d.config(), in: d.input(), says: (&answers{seed: seed}).says}
		m.play()
		t.Run(fmt.Sprintf("HX8 seed %d", seed), func(t *testing.T) { m.compare(t, seed) })
		statuses[m.status]++
	}
	assert.Len(t, statuses, 3, "there is a run with each status")
}

// compare makes the run, and compares what came of it.
func (m *model) compare(t *testing.T, seed uint64) {
	t.Helper()
	cfg := m.cfg
	cfg.Rules.Grader = byText
	flow, err := hierarchy.New(cfg)
	require.NoError(t, err)
	a := &answers{seed: seed, said: map[string]int{}}
	roster := agent.Roster{}
	for _, name := range flow.Agents {
		roster[name] = a.agent(name)
	}
	eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
	require.NoError(t, err)
	out, err := flow.Run(t.Context(), eng, m.in)
	require.NoError(t, eng.Close(t.Context()))
	if m.status == orchestrator.Failed {
		require.ErrorIs(t, err, hierarchy.ErrUnable)
	} else {
		require.NoError(t, err)
	}
	assert.Equal(t, m.status, out.Status)
	assert.Equal(t, m.calls, a.said, "calls by agent")
	assert.Equal(t, m.chosen, out.Route.Chosen())
	assert.Equal(t, m.unverified, out.Unverified)
	codes := map[string]int{}
	for _, w := range out.Warnings {
		codes[strings.TrimPrefix(w.Code, "hierarchy/")]++
	}
	assert.Equal(t, m.codes, codes, "warnings")
	if m.score < 0 {
		assert.Nil(t, out.Score)
	} else if assert.NotNil(t, out.Score) {
		assert.InDelta(t, m.score, *out.Score, 2e-6)
	}
	require.Len(t, out.Reports, len(m.chosen))
	for _, r := range out.Reports {
		m.reports[r.DepartmentID].compare(t, r)
	}
	var keys []string
	for id, done := range m.done {
		if done {
			keys = append(keys, id)
		}
	}
	slices.Sort(keys)
	assert.Equal(t, keys, slices.Sorted(maps.Keys(out.Output)))
}

func (r *modelReport) compare(t *testing.T, got hierarchy.Report) {
	t.Helper()
	id := got.DepartmentID
	assert.EqualValues(t, r.status, got.Status, id)
	assert.Equal(t, r.basis, got.Basis, id)
	assert.Equal(t, r.output, hierarchy.Text(got.Output), id)
	assert.Equal(t, r.noScore, got.Ungraded != "", id)
	assert.Len(t, got.HeadAttempts, r.heads, id)
	if r.status == "done" {
		assert.InDelta(t, r.raw, got.RawQuality, 2e-6, id)
	}
	require.Len(t, got.Specialists, len(r.staff), id)
	for i, w := range r.staff {
		s := got.Specialists[i]
		assert.Equal(t, w.id, s.AgentID)
		assert.Equal(t, w.review, s.ReviewStatus, w.id)
		assert.Equal(t, w.text, hierarchy.Text(s.Output), w.id)
		assert.Equal(t, w.gate, s.Threshold, w.id)
		assert.Equal(t, w.ungraded, s.Ungraded != "", w.id)
		assert.Len(t, s.Attempts, w.tries, w.id)
		if !w.ungraded {
			assert.InDelta(t, w.score, s.Score, 1e-6, w.id)
		}
	}
}
