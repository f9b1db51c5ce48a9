package hierarchy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

const breadTheft = "Create a dramatic opening scene with Aladdin stealing bread"

// studio has every head answer at once.
func studio(prompt string) theater {
	th := theater{cfg: hierarchy.Config{Departments: hierarchy.MovieDepartments()}, in: hierarchy.Input{Prompt: prompt}, cast: cast{}}
	for _, d := range th.cfg.Departments {
		th.cast[d.Head] = []any{on{"", d.ID + " result"}}
	}
	return th
}

func TestRouting(t *testing.T) {
	p := studio(breadTheft).play(t)
	require.NoError(t, p.err)
	route := p.out.Route
	t.Run("H1 one master, one head per department", func(t *testing.T) {
		assert.Equal(t, 4, p.calls())
		for _, r := range p.out.Reports {
			assert.Len(t, p.asked[strings.ReplaceAll(r.DepartmentID, "_", "-")+"-head"], 1)
		}
	})
	t.Run("H9 before any department", func(t *testing.T) {
		kinds := []team.Kind{}
		for _, rec := range p.log {
			kinds = append(kinds, team.Kind(rec.Kind))
		}
		assert.Less(t, slices.Index(kinds, hierarchy.EventRouteDecided), slices.Index(kinds, hierarchy.EventDepartmentStarted))
		assert.Less(t, slices.Index(kinds, hierarchy.EventRouteDecided), slices.Index(kinds, "called"))
	})
	t.Run("H10 one record per department", func(t *testing.T) {
		assert.Len(t, route.Relevances, 6)
		assert.Equal(t, "story", route.Relevances[0].ID)
		assert.Equal(t, 1, route.Relevances[0].Priority)
		assert.NotEmpty(t, route.Relevances[0].Reason)
	})
	t.Run("H12 highest first", func(t *testing.T) {
		for i, rel := range route.Relevances[1:] {
			assert.LessOrEqual(t, rel.Relevance, route.Relevances[i].Relevance)
		}
	})
	t.Run("H11 no model is asked", func(t *testing.T) { assert.Equal(t, 4, p.calls(), "the four heads alone") })
	t.Run("H22 the bread theft", func(t *testing.T) {
		got := map[string]float64{}
		for _, rel := range route.Relevances {
			got[rel.ID] = rel.Relevance
		}
		assert.Equal(t, map[string]float64{"story": .85, "character": .65, "visual": .5, "audio": .35, "image_quality": .15, "production": .1}, got)
		assert.Equal(t, "story", route.Primary)
		assert.Equal(t, []string{"character", "visual", "audio"}, route.Supporting)
		assert.Equal(t, routing.Sequential, route.Mode)
	})
	t.Run("HA22 its waves", func(t *testing.T) {
		assert.Equal(t, [][]string{{"story", "character", "audio"}, {"visual"}}, route.Waves)
	})
	t.Run("HC15 within a wave the routing order", func(t *testing.T) { assert.Equal(t, []string{"story", "character", "audio"}, route.Waves[0]) })
	t.Run("H19 create character", func(t *testing.T) {
		q := studio("Create character Aladdin").play(t)
		assert.Equal(t, "character", q.out.Route.Primary)
		assert.Equal(t, .85, q.out.Route.Relevances[0].Relevance) // 10 + 40 + 35
		assert.Empty(t, q.out.Route.Supporting)
	})
	t.Run("H15 single", func(t *testing.T) {
		assert.Equal(t, routing.Single, studio("Create character Aladdin").play(t).out.Route.Mode)
	})
	t.Run("H20 design story", func(t *testing.T) {
		q := studio("Design story episode 1").play(t)
		assert.Equal(t, "story", q.out.Route.Primary)
		assert.Equal(t, []string{"character"}, q.out.Route.Supporting)
		assert.Equal(t, []float64{.8, .35}, []float64{q.out.Route.Relevances[0].Relevance, q.out.Route.Relevances[1].Relevance}) // 10 + 40 + 30, 10 + 15 + 10
	})
	t.Run("H17 parallel", func(t *testing.T) {
		assert.Equal(t, routing.Parallel, studio("Design story episode 1").play(t).out.Route.Mode)
	})
	t.Run("H21 scene with dialogue", func(t *testing.T) {
		q := studio("Generate scene with dialogue").play(t)
		assert.Equal(t, "story", q.out.Route.Primary)
		assert.Equal(t, []string{"character", "audio", "visual"}, q.out.Route.Supporting)
		var got []float64
		for _, rel := range q.out.Route.Relevances[:4] {
			got = append(got, rel.Relevance)
		}
		assert.Equal(t, []float64{.75, .4, .4, .35}, got) // 10 + 30 + 35, 10 + 30, 10 + 30, 10 + 25
	})
	t.Run("H16 sequential", func(t *testing.T) {
		assert.Equal(t, routing.Sequential, studio("Generate scene with dialogue").play(t).out.Route.Mode)
	})
	t.Run("H13 exactly one primary", func(t *testing.T) { assert.NotContains(t, route.Supporting, route.Primary) })
	t.Run("H14 the cut is strict and can be set", func(t *testing.T) {
		th := studio(breadTheft)
		th.cfg.Rules.Router = orchestrator.ByKeywords{Cut: .5}
		assert.Equal(t, []string{"character"}, th.play(t).out.Route.Supporting)
	})
	t.Run("H18 visual needs character and story", func(t *testing.T) {
		i := slices.IndexFunc(hierarchy.MovieDepartments(), func(d hierarchy.Department) bool { return d.ID == "visual" })
		assert.Equal(t, []string{"character", "story"}, hierarchy.MovieDepartments()[i].DependsOn)
	})
	t.Run("HC14 reference dependencies", func(t *testing.T) {
		needs := map[string][]string{}
		for _, d := range hierarchy.MovieDepartments() {
			if len(d.DependsOn) > 0 {
				needs[d.ID] = d.DependsOn
			}
		}
		assert.Equal(t, map[string][]string{"visual": {"character", "story"}, "image_quality": {"visual"}}, needs)
	})
	t.Run("H23 the six departments", func(t *testing.T) {
		var ids []string
		for _, d := range hierarchy.MovieDepartments() {
			ids = append(ids, d.ID)
			assert.GreaterOrEqual(t, len(d.Agents), 2)
			assert.LessOrEqual(t, len(d.Agents), 4)
		}
		assert.Equal(t, []string{"story", "character", "visual", "image_quality", "audio", "production"}, ids)
		assert.Equal(t, 35, hierarchy.MovieDepartments("jasmine")[1].Keywords["jasmine"])
	})
	t.Run("H23 their keywords", func(t *testing.T) {
		want := []hierarchy.Department{
			{ID: "story", Priority: 1, Base: 10, Keywords: map[string]int{
				"story": 40, "episode": 30, "scene": 30, "dialogue": 35, "dramatic": 20,
				"opening": 25, "plot": 40, "narrative": 40, "theme": 25, "pacing": 25,
			}},
			{ID: "character", Priority: 2, Base: 10, Keywords: map[string]int{
				"character": 40, "personality": 40, "protagonist": 40, "costume": 25, "dialogue": 30,
				"story": 15, "episode": 10, "stealing": 20, "aladdin": 35,
			}},
			{ID: "visual", Priority: 3, Base: 10, Keywords: map[string]int{
				"visual": 40, "storyboard": 40, "camera": 35, "lighting": 35, "scene": 25, "concept": 20, "opening": 15,
			}},
			{ID: "image_quality", Priority: 4, Base: 15, Keywords: map[string]int{"image": 35, "resolution": 35, "reference": 30, "render": 25}},
			{ID: "audio", Priority: 5, Base: 10, Keywords: map[string]int{
				"audio": 40, "music": 40, "sound": 40, "foley": 40, "voice": 35, "dialogue": 30, "dramatic": 25,
			}},
			{ID: "production", Priority: 6, Base: 10, Keywords: map[string]int{"budget": 40, "schedule": 40, "production": 35, "resource": 25}},
		}
		for i, d := range hierarchy.MovieDepartments() {
			assert.Equal(t, want[i], hierarchy.Department{ID: d.ID, Priority: d.Priority, Base: d.Base, Keywords: d.Keywords})
		}
	})
	t.Run("HC36 a specialization names a skill as briefs are searched for it", func(t *testing.T) {
		for _, d := range hierarchy.MovieDepartments() {
			for _, a := range d.Agents {
				named := routing.Rules{}.Analyze(a.Specialization, a.Skills).Skills
				assert.NotEmpty(t, named, "%s: %q has none of %q", a.ID, a.Specialization, a.Skills)
			}
		}
		th := studio("A voice that tells of a budget")
		th.in.RequiresSpecialists, th.in.Only = new(true), []string{"audio", "production"}
		th.cast["audio-voice-specialist"] = []any{"calm"}
		th.cast["production-budget-specialist"] = []any{"small"}
		for _, d := range []string{"audio", "production"} {
			th.cast[d+"-head"] = []any{on{"Grade", marks(90)}, on{"", "whole"}}
		}
		q := th.play(t)
		require.NoError(t, q.err)
		assert.Equal(t, "calm", hierarchy.Text(q.report(t, "audio").Specialists[0].Output))
		assert.Equal(t, "small", hierarchy.Text(q.report(t, "production").Specialists[0].Output))
	})
	t.Run("HC17 nothing matches", func(t *testing.T) {
		q := studio("hello there").play(t)
		assert.True(t, q.out.Route.LowConfidence)
		assert.Equal(t, "story", q.out.Route.Primary)
		assert.Equal(t, routing.Single, q.out.Route.Mode)
	})
	t.Run("HC38 output keys", func(t *testing.T) {
		assert.Equal(t, "story result", hierarchy.Text(p.out.Output["narrative"]))
		assert.Equal(t, "audio result", hierarchy.Text(p.out.Output["audio"]))
	})
	t.Run("HC33 only and unknown departments", func(t *testing.T) {
		th := studio(breadTheft)
		th.in.Only = []string{"audio", "visual"}
		q := th.play(t)
		assert.Equal(t, "visual", q.out.Route.Primary)
		assert.Len(t, q.out.Route.Relevances, 6, "all are scored")
		th.in.Only = []string{"catering"}
		q = th.play(t)
		require.ErrorIs(t, q.err, hierarchy.ErrUnable)
		assert.Contains(t, q.err.Error(), "catering")
	})
}

func TestMasterFailure(t *testing.T) {
	t.Run("HA42 the router fails", func(t *testing.T) {
		th, calls := studio(breadTheft), 0
		th.cfg.Rules.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
			calls++
			return routing.Route{}, errBoom
		})
		p := th.play(t)
		assert.Equal(t, 1, calls)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		assert.Zero(t, p.calls())
		assert.Equal(t, orchestrator.Failed, p.out.Status)
	})
	t.Run("H3 the master tries once", func(t *testing.T) {
		th := studio("hello")
		th.cfg.Master.Agent, th.cast["director"] = "director", []any{errBoom}
		p := th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		assert.Len(t, p.asked["director"], 1)
		assert.Len(t, p.out.Reports, 1, "finished reports are there")
		assert.Equal(t, hierarchy.DepartmentDone, p.out.Reports[0].Status)
	})
	t.Run("H73 at once", func(t *testing.T) {
		th := studio("hello")
		th.cfg.Rules.Router = orchestrator.RouterFunc(func(*orchestrator.Context, string, []routing.Target) (routing.Route, error) {
			return routing.Route{Primary: "catering"}, nil
		})
		p := th.play(t)
		assert.Zero(t, p.calls())
		assert.Contains(t, p.err.Error(), `"catering" is no target`)
	})
	t.Run("H4 the message for users", func(t *testing.T) {
		p := theater{cfg: one(), in: hierarchy.Input{Prompt: "a"}, cast: cast{"head": {errBoom, errBoom, errBoom, errBoom}}}.play(t)
		require.EqualError(t, p.err, "hierarchy: no department finished: head failed 4 times, last: boom")
		assert.Equal(t, "Unable to generate content", p.out.Message)
	})
	t.Run("HA41 every department fails", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{
			"a-head": {errBoom, errBoom, errBoom, errBoom}, "b-head": {errBoom, errBoom, errBoom, errBoom},
		}}
		p := th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		require.EqualError(t, p.err, "hierarchy: no department finished: a-head failed 4 times, last: boom")
		assert.Equal(t, "Unable to generate content", p.out.Message)
		assert.Len(t, p.out.Reports, 2)
		assert.Equal(t, 8, p.calls())
	})
	t.Run("HA50 blank prompt", func(t *testing.T) {
		p := theater{cfg: one(), in: hierarchy.Input{Prompt: " \n"}}.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrInput)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		assert.Zero(t, p.calls())
	})
	t.Run("HX2 too large", func(t *testing.T) {
		p := theater{cfg: one(), in: hierarchy.Input{Prompt: strings.Repeat("x", 256<<10+1)}}.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrInput)
		q := theater{cfg: one(), in: hierarchy.Input{Prompt: strings.Repeat("x", 256<<10)}, cast: cast{"head": {"y"}}}.play(t)
		require.NoError(t, q.err)
	})
}

func TestDepartmentFailure(t *testing.T) {
	failing := cast{"a-head": {errBoom, errBoom, errBoom, errBoom}, "b-head": {"fine"}}
	p := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: failing}.play(t)
	t.Run("HA39 one fails, the other is fine", func(t *testing.T) {
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, hierarchy.DepartmentFailed, p.report(t, "a").Status)
		assert.Equal(t, hierarchy.DepartmentDone, p.report(t, "b").Status)
		assert.Equal(t, "a", p.out.Warnings[1].Who)
		assert.Len(t, p.asked["a-head"], 4)
	})
	t.Run("H70 partial data and an error report", func(t *testing.T) {
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/department-failed", Who: "a", Message: "a-head failed 4 times, last: boom"}, p.out.Warnings[1])
		assert.Len(t, p.out.Output, 1)
		assert.Empty(t, p.out.Unverified, "what failed is no part of the result")
	})
	t.Run("HX15 no error unless wanted", func(t *testing.T) {
		require.NoError(t, p.err)
		cfg := heads("a", "b")
		cfg.Policy.FailOnPartial = true
		q := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: failing}.play(t)
		require.ErrorIs(t, q.err, hierarchy.ErrPartial)
		assert.Equal(t, orchestrator.Partial, q.out.Status)
	})
	t.Run("HA40 a dependency fails", func(t *testing.T) {
		th := studio(breadTheft)
		th.cast["character-head"] = []any{on{"", errBoom}}
		q := th.play(t)
		require.NoError(t, q.err)
		assert.Equal(t, orchestrator.Partial, q.out.Status)
		assert.Equal(t, hierarchy.DepartmentSkipped, q.report(t, "visual").Status)
		assert.Equal(t, hierarchy.DepartmentDone, q.report(t, "story").Status)
		assert.Equal(t, hierarchy.DepartmentDone, q.report(t, "audio").Status)
		assert.Empty(t, q.asked["visual-head"])
		assert.Contains(t, q.out.Warnings, orchestrator.Warning{Code: "hierarchy/department-skipped", Who: "visual", Message: "character is failed"})
	})
	t.Run("HC32 dependents of the skipped are skipped", func(t *testing.T) {
		cfg := heads("a", "b", "c")
		cfg.Departments[1].DependsOn, cfg.Departments[2].DependsOn = []string{"a"}, []string{"b"}
		q := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {on{"", errBoom}}}}.play(t)
		assert.Equal(t, hierarchy.DepartmentSkipped, q.report(t, "c").Status)
		assert.Equal(t, "b is skipped", q.out.Warnings[3].Message)
	})
}

func TestOrder(t *testing.T) {
	p := studio(breadTheft).play(t)
	t.Run("HA49 the second wave has the results", func(t *testing.T) {
		prompt := p.asked["visual-head"][0].Prompt
		assert.True(t, strings.HasPrefix(prompt, breadTheft))
		assert.Contains(t, prompt, "<data name=\"Story Department\">\nstory result\n</data>")
		assert.Contains(t, prompt, "<data name=\"Character Department\">\ncharacter result\n</data>")
		assert.NotContains(t, prompt, "audio result")
	})
	at := func(kind team.Kind, path string) int {
		return slices.IndexFunc(p.log, func(r record) bool {
			var e hierarchy.Event
			return team.Kind(r.Kind) == kind && json.Unmarshal(r.Data, &e) == nil && e.Path == path
		})
	}
	t.Run("H80 each dependency's result once", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Departments[1].DependsOn = []string{"a", "a"}
		q := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"the first"}, "b-head": {"x"}}}.play(t)
		assert.Equal(t, 1, strings.Count(q.asked["b-head"][0].Prompt, "the first"))
	})
	t.Run("H80 after its dependencies", func(t *testing.T) {
		assert.Greater(t, at(hierarchy.EventDepartmentStarted, "dept/visual"), at(hierarchy.EventDepartmentFinished, "dept/story"))
		assert.Greater(t, at(hierarchy.EventDepartmentStarted, "dept/visual"), at(hierarchy.EventDepartmentFinished, "dept/character"))
	})
	t.Run("H81 the others start together", func(t *testing.T) {
		first := min(at(hierarchy.EventDepartmentFinished, "dept/story"), at(hierarchy.EventDepartmentFinished, "dept/character"), at(hierarchy.EventDepartmentFinished, "dept/audio"))
		for _, id := range []string{"story", "character", "audio"} {
			assert.Less(t, at(hierarchy.EventDepartmentStarted, "dept/"+id), first)
		}
	})
	t.Run("H79 parallel departments start together and are waited for", func(t *testing.T) {
		m := &meter{}
		th := theater{cfg: heads("a", "b", "c"), in: hierarchy.Input{Prompt: "go"}, wrap: m.wrap, cast: cast{
			"a-head": {delay(3, "x")}, "b-head": {delay(1, "x")}, "c-head": {delay(2, "x")},
		}}
		q := th.play(t)
		assert.Equal(t, 3, m.most)
		assert.Len(t, q.out.Output, 3)
		assert.InDelta(t, 4, q.out.Elapsed.Seconds(), .005)
	})
	t.Run("HX9 limits", func(t *testing.T) {
		m := &meter{}
		cfg := heads("a", "b", "c")
		cfg.Bounds.ParallelDepartments = 1
		theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, wrap: m.wrap, cast: cast{"a-head": {"x"}, "b-head": {"x"}, "c-head": {"x"}}}.play(t)
		assert.Equal(t, 1, m.most)
	})
	t.Run("HX9 nested limits of one do not deadlock", func(t *testing.T) {
		m := &meter{}
		cfg := heads("a", "b")
		th := theater{in: hierarchy.Input{Prompt: "go for a detailed hat"}, wrap: m.wrap, cast: cast{"a-head": {"x"}, "b-head": {"x"}}}
		for i, d := range cfg.Departments {
			for _, id := range []string{d.ID + "1", d.ID + "2"} {
				cfg.Departments[i].Agents = append(cfg.Departments[i].Agents, specialist(id, 60))
				th.cast[id] = []any{said("x", 10), said("y", 90)}
			}
		}
		cfg.Bounds.ParallelDepartments, cfg.Bounds.ParallelSpecialists = 1, 1
		th.cfg = cfg
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, 1, m.most)
		assert.Equal(t, []string{"a1", "a1", "a2", "a2", "a-head", "b1", "b1", "b2", "b2", "b-head"}, m.order)
	})
	t.Run("H7 specialists side by side", func(t *testing.T) {
		m := &meter{}
		th := trio(60, 90, 90, 90)
		th.wrap = m.wrap
		th.play(t)
		assert.Equal(t, 3, m.most)
	})
	t.Run("HA47 a serial department", func(t *testing.T) {
		m := &meter{}
		th := trio(60, 90, 90, 90)
		th.wrap, th.cfg.Departments[0].Serial = m.wrap, true
		th.play(t)
		assert.Equal(t, 1, m.most)
		assert.Equal(t, []string{"a", "b", "c", "head"}, m.order)
	})
	t.Run("H82 parallel unless serial", func(t *testing.T) {
		assert.False(t, hierarchy.NewDepartment("d", "h").Serial)
		for serial, want := range map[bool]int{false: 2, true: 1} {
			m := &meter{}
			th := trio(60, 90, 90)
			th.wrap, th.cfg.Departments[0].Serial = m.wrap, serial
			th.play(t)
			assert.Equal(t, want, m.most, serial)
		}
	})
}

// meter counts concurrent calls.
type meter struct {
	mu        sync.Mutex
	now, most int
	order     []string
}

func (m *meter) wrap(name string, a agent.Agent) agent.Agent {
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		m.mu.Lock()
		m.now++
		m.most = max(m.most, m.now)
		m.order = append(m.order, name)
		m.mu.Unlock()
		defer func() {
			m.mu.Lock()
			m.now--
			m.mu.Unlock()
		}()
		second, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-second.Done() // so that calls overlap
		return a.Call(ctx, req)
	})
}

func TestLimitedSpecialists(t *testing.T) {
	t.Run("HA48 ten specialists, three at once, fifty times", func(t *testing.T) {
		var first hierarchy.Outcome
		for seed := range 50 {
			dice := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // repeatable
			m := &meter{}
			th := theater{in: request(), cast: cast{"head": {"whole"}}}
			var agents []hierarchy.Agent
			for i := range 10 {
				a := specialist(fmt.Sprintf("s%02d", i), 60)
				agents = append(agents, a)
				th.cast[a.ID] = []any{flowtest.Delay(time.Duration(dice.IntN(5000))*time.Millisecond, said("x "+a.ID, float64(60+i)))}
			}
			th.cfg = one(agents...)
			th.cfg.Rules.Analyzer = routing.Rules{Specialists: routing.SpecialistCount{Complex: 10}}
			th.cfg.Bounds.ParallelSpecialists = 3
			th.wrap = m.wrap
			p := th.play(t)
			require.NoError(t, p.err)
			assert.Equal(t, 3, m.most)
			out := flowtest.Clockless(p.out)
			if seed == 0 {
				first = out
			}
			require.Equal(t, first, out)
		}
	})
}

func TestCancel(t *testing.T) {
	cfg := one(specialist("a", 60), specialist("b", 60))
	flow, err := hierarchy.New(cfg)
	require.NoError(t, err)
	var out hierarchy.Outcome
	var calls []string
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
				mu.Lock()
				calls = append(calls, name)
				mu.Unlock()
				if name == "a" {
					return said("of a", 90), nil
				}
				<-ctx.Done() // in-flight calls get the cancelled ctx
				return agent.Response{}, ctx.Err()
			})
		}
		eng, openErr := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, openErr)
		run, startErr := flow.Start(t.Context(), eng, request(), orchestrator.StartOptions{})
		require.NoError(t, startErr)
		for rec, err := range run.Events(t.Context(), 0) {
			require.NoError(t, err)
			if team.Kind(rec.Kind) == hierarchy.EventSpecialistFinished {
				break
			}
		}
		require.NoError(t, run.Cancel(t.Context(), "enough"))
		out, err = flow.Result(t.Context(), run)
		require.NoError(t, eng.Close(t.Context()))
	})
	t.Run("HA46 cancel after the first specialist", func(t *testing.T) {
		assert.ElementsMatch(t, []string{"a", "b"}, calls)
		assert.Equal(t, orchestrator.Canceled, out.Status)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("HX1 finished work is in the outcome", func(t *testing.T) {
		require.ErrorIs(t, err, orchestrator.ErrCanceled)
		assert.Equal(t, orchestrator.Canceled, out.Status)
		r := out.Reports[0]
		assert.Equal(t, hierarchy.DepartmentCanceled, r.Status)
		assert.Equal(t, "of a", hierarchy.Text(r.Specialists[0].Output))
	})
	t.Run("HX1 a canceled department is neither synthesized nor failed by its specialists", func(t *testing.T) {
		r := out.Reports[0]
		assert.Empty(t, out.Warnings)
		assert.Empty(t, r.Basis)
		assert.Nil(t, r.Output)
		require.EqualError(t, err, "hierarchy: the run was canceled: enough")
	})
	t.Run("HX1 an agent's own cancellation is a failed attempt", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {context.Canceled, said("x", 90)}, "head": {"whole"}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
	})
}

func TestCancelBetweenWaves(t *testing.T) {
	t.Run("HX1 departments that did not begin are canceled", func(t *testing.T) {
		cfg := heads("a", "b", "c")
		cfg.Departments[2].DependsOn = []string{"a"}
		cfg.Bounds.ParallelDepartments = 1
		flow, err := hierarchy.New(cfg)
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			begun := make(chan struct{})
			roster := agent.Roster{}
			for _, name := range flow.Agents {
				roster[name] = agent.Func(func(ctx context.Context, _ agent.Request) (agent.Response, error) {
					close(begun) // a second call would panic
					<-ctx.Done()
					return agent.Response{}, ctx.Err()
				})
			}
			eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
			require.NoError(t, err)
			run, err := flow.Start(t.Context(), eng, hierarchy.Input{Prompt: "go"}, orchestrator.StartOptions{})
			require.NoError(t, err)
			<-begun
			require.NoError(t, run.Cancel(t.Context(), "enough"))
			out, err := flow.Result(t.Context(), run)
			require.ErrorIs(t, err, context.Canceled)
			for _, r := range out.Reports {
				assert.Equal(t, hierarchy.DepartmentCanceled, r.Status, r.DepartmentID)
			}
			ended := 0
			for rec, err := range run.Events(t.Context(), 0) {
				require.NoError(t, err)
				if team.Kind(rec.Kind) == hierarchy.EventDepartmentCanceled {
					ended++
				}
			}
			assert.Equal(t, 3, ended, "each has a last record")
			assert.Empty(t, out.Unverified)
			require.NoError(t, eng.Close(t.Context()))
		})
	})
}

func TestStepsGetCopies(t *testing.T) {
	cfg := poets(hierarchy.Rules{})
	want, _, err := recital(t, cfg).Run(t)
	require.NoError(t, err)
	spoil := func(reports []hierarchy.Report) {
		for _, r := range reports {
			copy(r.Output, "spoilt")
			for i := range r.Specialists {
				r.Specialists[i].Score = -1
			}
		}
	}
	cfg.Rules.Brief = func(_ *orchestrator.Context, in hierarchy.Input, d hierarchy.Department, needs []hierarchy.Report) (string, error) {
		spoil(needs)
		in.History["poet"], *d.Gate = []float64{-1}, -1
		return in.Prompt, nil
	}
	cfg.Rules.Resolve = func(_ *orchestrator.Context, d hierarchy.Department, _ string, passing []hierarchy.SpecialistResult) (string, error) {
		spoil([]hierarchy.Report{{Specialists: passing}})
		*d.Gate = -1
		return "", nil
	}
	check := func(_ *orchestrator.Context, reports []hierarchy.Report) ([]hierarchy.Issue, error) {
		spoil(reports)
		return nil, nil
	}
	cfg.Rules.Validate, cfg.Rules.Consistency = []hierarchy.Check{check}, check
	got, _, err := recital(t, cfg).Run(t)
	require.NoError(t, err)
	assert.Equal(t, want.Reports[0].Specialists[0].Score, got.Reports[0].Specialists[0].Score)
	assert.Equal(t, sum(want), sum(got))
	assert.Equal(t, want.Output, got.Output)
	assert.Equal(t, want.Reports[0].Gate, got.Reports[0].Gate)
}

func TestHookErrors(t *testing.T) {
	t.Run("HX11 a brief that fails", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"b-head": {"x"}}}
		th.cfg.Rules.Brief = func(_ *orchestrator.Context, in hierarchy.Input, d hierarchy.Department, _ []hierarchy.Report) (string, error) {
			if d.ID == "a" {
				return "", errBoom
			}
			return in.Prompt, nil
		}
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, []orchestrator.Warning{
			{Code: "hierarchy/rule", Who: "a", Message: "Rules.Brief: boom"},
			{Code: "hierarchy/department-failed", Who: "a", Message: "Rules.Brief: boom"},
		}, p.out.Warnings)
		assert.Equal(t, hierarchy.DepartmentDone, p.report(t, "b").Status)
	})
	t.Run("HC9 a blank brief is none", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}}
		th.cfg.Rules.Brief = func(*orchestrator.Context, hierarchy.Input, hierarchy.Department, []hierarchy.Report) (string, error) {
			return " \n", nil
		}
		p := th.play(t)
		assert.Zero(t, p.calls())
		require.EqualError(t, p.err, "hierarchy: no department finished: Rules.Brief: it is blank")
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
	})
	t.Run("HX11 a prompt of the host's that fails is a failed attempt", func(t *testing.T) {
		a := specialist("s", 60)
		a.Attempts = 2
		th := theater{cfg: one(a), in: request(), cast: cast{"s": {said("x", 10)}, "head": {"y"}}}
		th.cfg.Prompts = fstest.MapFS{"retry.tmpl": {Data: []byte("{{if .Request}}{{slice .Request 9999}}{{end}}")}}
		p := th.play(t)
		require.NoError(t, p.err)
		s := p.report(t, "d").Specialists[0]
		require.Len(t, s.Attempts, 2)
		assert.Contains(t, s.Attempts[1].Error, "fill prompt: template: retry.tmpl")
		assert.Equal(t, 10.0, s.Score, "the attempt before counts")
	})
	t.Run("HC39 a hook's threshold out of range", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: request()}
		th.cfg.Rules.Threshold = grading.ThresholdFunc(func(grading.Subject, []float64) float64 { return 101 })
		p := th.play(t)
		require.ErrorIs(t, p.err, hierarchy.ErrRule)
		assert.Equal(t, "stopped: Rules.Threshold: it is 101, want 0 to 100", p.report(t, "d").Specialists[0].ReviewNotes)
		assert.Equal(t, orchestrator.Warning{Code: "hierarchy/rule", Who: "s", Message: "Rules.Threshold: it is 101, want 0 to 100"}, p.out.Warnings[0])
	})
	t.Run("H24 an analysis of the host's", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: hierarchy.Input{Prompt: "a hat"}, cast: cast{"s": {said("x", 90)}, "head": {"y"}}}
		th.cfg.Rules.Analyzer = routing.AnalyzerFunc(func(string, []string) routing.Analysis {
			return routing.Analysis{Complexity: routing.Moderate, Estimate: 1}
		})
		assert.Equal(t, hierarchy.FromSpecialists, th.play(t).report(t, "d").Basis)
	})
	t.Run("HA8 HX6 a grader's grade out of range is no grade", func(t *testing.T) {
		for _, score := range []float64{-1, 101, math.NaN()} {
			th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"x"}}}
			th.cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) {
				return hierarchy.Grade{Score: &score}, nil
			})
			p := th.play(t)
			require.ErrorIs(t, p.err, hierarchy.ErrRule)
			s, why := p.report(t, "d").Specialists[0], fmt.Sprintf("Rules.Grader: score is %v, want 0 to 100", score)
			assert.Equal(t, grading.Rejected, s.ReviewStatus)
			assert.Equal(t, why, s.Ungraded)
			assert.Equal(t, orchestrator.Warning{Code: "hierarchy/rule", Who: "s", Message: why}, p.out.Warnings[0])
		}
		good, bad := map[string]float64{"quality": .9, "relevance": .9, "consistency": .9}, map[string]float64{"quality": 85, "relevance": .5, "consistency": .5}
		for _, tt := range []struct {
			grade     hierarchy.Grade
			score     float64
			defaulted bool
			ungraded  string
		}{
			{hierarchy.Grade{Marks: good}, 90, false, ""},
			{hierarchy.Grade{Marks: bad}, 0, false, "Rules.Grader: quality is 85, want 0 to 1"},
			{hierarchy.Grade{Marks: bad, Score: new(90.0)}, 0, false, "Rules.Grader: quality is 85, want 0 to 1"},
			{hierarchy.Grade{Marks: good, Score: new(80.0)}, 80, false, ""},
			{hierarchy.Grade{}, 75, true, ""},
		} {
			th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {"x"}, "head": {"y"}}}
			if tt.ungraded != "" {
				delete(th.cast, "head")
			}
			th.cfg.Rules.Grader = orchestrator.GradeWith(func(*orchestrator.Context, hierarchy.Work) (hierarchy.Grade, error) { return tt.grade, nil })
			s := th.play(t).report(t, "d").Specialists[0]
			assert.Equal(t, tt.score, s.Score, "%+v", tt.grade)
			assert.Equal(t, tt.defaulted, s.ScoreDefaulted, "%+v", tt.grade)
			assert.Equal(t, tt.ungraded, s.Ungraded)
		}
	})
}

func TestBudget(t *testing.T) {
	t.Run("HC47 a department is done when calls end", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Departments[1].DependsOn = []string{"a"}
		cfg.Limits.Calls = 1
		th := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}}}
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, hierarchy.DepartmentDone, p.report(t, "a").Status)
		assert.Equal(t, hierarchy.DepartmentFailed, p.report(t, "b").Status)
		assert.Equal(t, 1, p.calls())
		assert.Equal(t, []orchestrator.Warning{
			{Code: "hierarchy/department-failed", Who: "b", Message: "budget: the limit of 1 calls is reached"},
			{Code: "hierarchy/budget", Message: "budget: the limit of 1 calls is reached"},
		}, p.out.Warnings)

		th.cfg.Policy.FailOnPartial = true
		p = th.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		require.ErrorIs(t, p.err, hierarchy.ErrPartial)
		require.EqualError(t, p.err, `hierarchy: the result is partial: missing ["b"], unverified []: budget: the limit of 1 calls is reached`)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
	})
	t.Run("HC47 when money ends", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Departments[1].DependsOn = []string{"a"}
		cfg.Limits.Cost = 5
		paid := agent.Response{Text: "x", Usage: providers.Usage{Calls: 1, Cost: 5}}
		p := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {paid}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.EqualValues(t, 5, p.out.Spent.Cost)
		assert.Contains(t, p.codes(), "hierarchy/budget")
	})
	t.Run("HC47 when time ends", func(t *testing.T) {
		cfg := heads("a", "b")
		cfg.Departments[1].DependsOn = []string{"a"}
		cfg.Limits.Time = time.Minute
		p := theater{cfg: cfg, in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {delay(50, "x")}, "b-head": {delay(20, "y")}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.InDelta(t, 60, p.out.Elapsed.Seconds(), .01)
		assert.Contains(t, p.out.Warnings, orchestrator.Warning{Code: "hierarchy/budget", Message: "budget: the time limit of 1m0s is reached"})
	})
	t.Run("HC47 no department is done", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("x", 10)}}}
		th.cfg.Limits.Calls = 1
		p := th.play(t)
		require.ErrorIs(t, p.err, orchestrator.ErrBudget)
		require.ErrorIs(t, p.err, hierarchy.ErrUnable)
		require.EqualError(t, p.err, "hierarchy: no department finished: budget: the limit of 1 calls is reached")
		assert.Equal(t, orchestrator.OutOfBudget, p.out.Status)
		assert.Equal(t, "Unable to generate content", p.out.Message)
		s := p.report(t, "d").Specialists[0]
		assert.Len(t, s.Attempts, 1, "what was paid for is in the report")
		assert.Equal(t, "score 10 is below the threshold of 60; stopped: budget: the limit of 1 calls is reached", s.ReviewNotes)
	})
	t.Run("HC47 the synthesis is not paid for any more", func(t *testing.T) {
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {said("x", 90)}}}
		th.cfg.Limits.Calls = 1
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.Equal(t, hierarchy.FallbackOutput, p.report(t, "d").Basis)
		assert.Equal(t, "x", hierarchy.Text(p.out.Output["d"]))
		assert.Equal(t, []string{"hierarchy/fallback", "hierarchy/budget"}, p.codes())
	})
	t.Run("HC47 the master is skipped", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}}}
		th.cfg.Master, th.cfg.Limits.Calls = hierarchy.Master{Agent: "director", Consistency: "brain"}, 1
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Partial, p.out.Status)
		assert.EqualValues(t, "skipped", p.out.Checks.Consistency)
		assert.Len(t, p.out.Output, 1)
		assert.Equal(t, []orchestrator.Warning{
			{Code: "hierarchy/budget", Who: "director", Message: "the outputs of the departments were not united: budget: the limit of 1 calls is reached"},
			{Code: "hierarchy/budget", Who: "brain", Message: "the check was not made: budget: the limit of 1 calls is reached"},
		}, p.out.Warnings)
	})
	t.Run("HX12 a budget of the agent's own is a failed attempt", func(t *testing.T) {
		p := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {orchestrator.ErrBudget, said("x", 90)}, "head": {"whole"}}}.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Equal(t, "approved after 1 retry", p.report(t, "d").Specialists[0].ReviewNotes)
	})
	t.Run("HX12 N1 an agent's own word on budgets is a failure of that agent", func(t *testing.T) {
		own := orchestrator.ErrBudget
		th := theater{cfg: one(specialist("s", 60)), in: request(), cast: cast{"s": {own, own, own, own}, "head": {"whole"}}}
		th.cfg.Limits.Cost = 5
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Len(t, p.asked["s"], 4)
		assert.Len(t, p.asked["head"], 1)
	})
}

func TestAggregation(t *testing.T) {
	t.Run("H85 one result", func(t *testing.T) {
		th := theater{cfg: heads("a", "b"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}, "b-head": {"y"}, "director": {"x and y, united"}}}
		th.cfg.Master.Agent, th.cfg.Departments[1].OutputKey = "director", "second"
		p := th.play(t)
		require.NoError(t, p.err)
		assert.Len(t, p.out.Output, 3)
		assert.Equal(t, "y", hierarchy.Text(p.out.Output["second"]))
		assert.Equal(t, "x and y, united", hierarchy.Text(p.out.Output["result"]))
		assert.Equal(t, "x", hierarchy.Text(p.out.Output["a"]))
		assert.Contains(t, p.asked["director"][0].Prompt, "<data name=\"b\">\ny\n</data>")
	})
	t.Run("H86 checks across departments", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {on{"", "x"}}}}
		passes := func(*orchestrator.Context, []hierarchy.Report) ([]hierarchy.Issue, error) { return nil, nil }
		finds := func(_ *orchestrator.Context, rs []hierarchy.Report) ([]hierarchy.Issue, error) {
			return []hierarchy.Issue{{Department: rs[0].DepartmentID, Message: "dull"}}, nil
		}
		breaks := func(*orchestrator.Context, []hierarchy.Report) ([]hierarchy.Issue, error) { return nil, errBoom }
		assert.EqualValues(t, "skipped", th.play(t).out.Checks.CrossDepartment)
		th.cfg.Rules.Validate = []hierarchy.Check{passes}
		assert.EqualValues(t, "passed", th.play(t).out.Checks.CrossDepartment)
		th.cfg.Rules.Validate = []hierarchy.Check{finds, passes, breaks}
		p := th.play(t)
		assert.EqualValues(t, "failed", p.out.Checks.CrossDepartment)
		assert.Equal(t, []hierarchy.Issue{{"a", "dull"}}, p.out.Checks.Issues)
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/rule", Who: "run", Message: "Rules.Validate[2]: boom"}}, p.out.Warnings)
		assert.Equal(t, orchestrator.Completed, p.out.Status, "checks inform")

		asks := func(c *orchestrator.Context, _ []hierarchy.Report) ([]hierarchy.Issue, error) {
			_, err := c.Call("a-head", agent.Request{Prompt: "well?"})
			return nil, err
		}
		th.cfg.Limits.Calls = 1
		th.cfg.Rules.Validate = []hierarchy.Check{passes, asks}
		assert.EqualValues(t, "skipped", th.play(t).out.Checks.CrossDepartment, "one was not made: it is not known that all passed")
		th.cfg.Rules.Validate = []hierarchy.Check{finds, asks}
		assert.EqualValues(t, "failed", th.play(t).out.Checks.CrossDepartment)
	})
	t.Run("H87 consistency with a knowledge service", func(t *testing.T) {
		th := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {on{"", "x"}}}}
		assert.EqualValues(t, "skipped", th.play(t).out.Checks.Consistency)
		th.cfg.Master.Consistency, th.cast["brain"] = "brain", []any{map[string]any{"issues": []any{}}}
		assert.EqualValues(t, "passed", th.play(t).out.Checks.Consistency)
		th.cast["brain"] = []any{map[string]any{"issues": []any{map[string]any{"department": "a", "message": "he has no hat"}}}}
		p := th.play(t)
		assert.EqualValues(t, "failed", p.out.Checks.Consistency)
		assert.Equal(t, "he has no hat", p.out.Checks.Issues[0].Message)
		assert.Contains(t, p.prompt("brain", 0), "<data name=\"a\">\nx\n</data>")

		th.cfg.Master.Consistency = ""
		th.cfg.Rules.Consistency = func(_ *orchestrator.Context, rs []hierarchy.Report) ([]hierarchy.Issue, error) {
			return []hierarchy.Issue{{Department: rs[0].DepartmentID, Message: "by a hook"}}, nil
		}
		p = th.play(t)
		assert.EqualValues(t, "failed", p.out.Checks.Consistency)
		assert.Equal(t, []hierarchy.Issue{{"a", "by a hook"}}, p.out.Checks.Issues)
		th.cfg.Rules.Consistency = func(*orchestrator.Context, []hierarchy.Report) ([]hierarchy.Issue, error) { panic("ouch") }
		p = th.play(t)
		assert.EqualValues(t, "failed", p.out.Checks.Consistency)
		assert.Equal(t, []orchestrator.Warning{{Code: "hierarchy/rule", Who: "run", Message: "Rules.Consistency panicked: ouch"}}, p.out.Warnings)
	})
	four := studio(breadTheft)
	raws := map[string]float64{"character": 91.8, "story": 88.5, "visual": 82, "audio": 76.5}
	four.cfg.Policy.GradeHeads = true
	four.cfg.Rules.Grader = orchestrator.GradeWith(func(_ *orchestrator.Context, w hierarchy.Work) (hierarchy.Grade, error) {
		return hierarchy.Grade{Score: new(raws[w.Department.ID])}, nil
	})
	for i := range four.cfg.Departments {
		four.cfg.Departments[i].MinQuality = new(70.0)
	}
	t.Run("HA52 overall of four departments", func(t *testing.T) {
		p := four.play(t)
		require.NoError(t, p.err)
		assert.InDelta(t, 86.24, *p.out.Score, .005)
		for _, r := range p.out.Reports {
			assert.True(t, r.PassedGate)
		}
	})
	t.Run("HC13 weighted by relevance, replaceable", func(t *testing.T) {
		p := four.play(t)
		assert.Equal(t, 86.242553, *p.out.Score) // (91.8*.65 + 88.5*.85 + 82*.5 + 76.5*.35) / 2.35
		th := four
		th.cfg.Rules.Scores.Overall = grading.ScorerFunc(func(marks grading.Marks) (float64, error) { return marks[0].Value, nil })
		assert.Equal(t, 88.5, *th.play(t).out.Score)
		th.cfg.Rules.Scores.Overall = grading.ScorerFunc(func(marks grading.Marks) (float64, error) { return 101, nil })
		require.ErrorIs(t, th.play(t).err, hierarchy.ErrUnable)
	})
	t.Run("H88 the number is in the outcome", func(t *testing.T) {
		p := theater{cfg: heads("a"), in: hierarchy.Input{Prompt: "go"}, cast: cast{"a-head": {"x"}}}.play(t)
		require.NotNil(t, p.out.Score)
		assert.Equal(t, 85.0, *p.out.Score)
	})
	t.Run("HC16 the primary is no supporter", func(t *testing.T) { assert.Len(t, four.play(t).out.Reports, 4) })
}

func TestConcurrentRuns(t *testing.T) {
	t.Run("HX16 fifty runs of one value", func(t *testing.T) {
		cfg := workedExample().cfg
		flow, err := hierarchy.New(cfg)
		require.NoError(t, err)
		for i := range cfg.Departments { // the flow has a copy
			cfg.Departments[i].Head = "gone"
			*cfg.Departments[i].Agents[0].PassingThreshold = 100
			clear(cfg.Departments[i].Keywords)
		}
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			roster[name] = agent.Func(func(_ context.Context, req agent.Request) (agent.Response, error) {
				switch {
				case strings.HasSuffix(name, "-head"):
					return agent.Response{Text: "whole of " + req.Prompt[:60]}, nil
				case name == "character-appearance-specialist" && !strings.Contains(req.Prompt, "did not pass"):
					return said("first", 58), nil
				case name == "character-appearance-specialist":
					return said("second", 72), nil
				default:
					return said("work", 87), nil
				}
			})
		}
		eng, err := orchestrator.NewLocal(orchestrator.Config{Agents: roster})
		require.NoError(t, err)
		outs, errs := [50]hierarchy.Outcome{}, [50]error{}
		var wg sync.WaitGroup
		for i := range outs {
			wg.Go(func() {
				outs[i], errs[i] = flow.Run(t.Context(), eng, hierarchy.Input{Prompt: brief(fmt.Sprintf("Create character Aladdin %d", i), 50), Only: []string{"character"}})
			})
		}
		wg.Wait()
		for i, out := range outs {
			require.NoError(t, errs[i])
			assert.Equal(t, 91.8, *out.Score)
			assert.Equal(t, .85, out.Route.Relevances[0].Relevance)
			assert.Equal(t, 58.0, out.Reports[0].Specialists[0].Attempts[0].Score)
		}
		require.NoError(t, eng.Close(t.Context()))
	})
}
