package director_test

import (
	"encoding/json"
	"math"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(c *director.Config)
		want   string // "": it is fine
	}{
		{"BC53 as it is", func(*director.Config) {}, ""},
		{"BC53 no director", func(c *director.Config) { c.Agents.Director = "" }, "Agents.Director is empty"},
		{"BC53 no strategist", func(c *director.Config) { c.Agents.Strategist = "" }, "Agents.Strategist is empty"},
		{"BC57 no guardian", func(c *director.Config) { c.Agents.Guardian = "" }, ""},
		{"BC61 a check without worktrees", func(c *director.Config) { c.Agents.Check = "check" }, "Agents.Worktree is empty"},
		{"BC61 a command without an agent", func(c *director.Config) { c.Profiles[1].Check = []string{"go", "test"} }, "Agents.Check is empty"},
		{"B19 no profiles", func(c *director.Config) { c.Profiles = nil }, "Profiles is empty"},
		{"B19 two of one name", func(c *director.Config) { c.Profiles[1].ID = c.Profiles[0].ID }, "Profiles[1]: ID is \"planner_worker\""},
		{"BC1 an unknown phase", func(c *director.Config) { c.Profiles[0].Phases = []string{"ship"} }, "Phases has \"ship\""},
		{"BC1 phases follow from the profiles", func(c *director.Config) { c.Profiles[0].Phases, c.Policy.Phases = []string{"ship"}, nil }, ""},
		{"B111 a component twice", func(c *director.Config) { c.Policy.Components = []string{"a", "a"} }, "Policy.Components[1]"},
		{"BC43 on abandoned", func(c *director.Config) { c.Policy.OnAbandoned = "guess" }, "Policy.OnAbandoned is \"guess\""},
		{"BX25 on silence", func(c *director.Config) { c.Policy.OnSilence = "guess" }, "Policy.OnSilence is \"guess\""},
		{"B109 retries", func(c *director.Config) { c.Policy.Retry.Conflicts = -2 }, "Policy.Retry.Conflicts is -2, want 0 or more"},
		{"N21 attempts count the first one", func(c *director.Config) { c.Policy.Retry.Attempts = orchestrator.None }, "Policy.Retry.Attempts is -1, want 1 or more"},
		{"B109 workers", func(c *director.Config) { c.Bounds.Parallel = -1 }, "Bounds.Parallel is -1, want 1 or more"},
		{"B109 time", func(c *director.Config) { c.Bounds.TaskTime = -2 }, "Bounds.TaskTime is -2ns"},
		{"BX27 the reserve", func(c *director.Config) { c.Bounds.Reserve = 101 }, "Bounds.Reserve is 101, want 0 to 100"},
		{"B116 the budget", func(c *director.Config) { c.Limits.Cost = -2 }, "Limits.Cost"},
		{"BC47 a prompt of no use", func(c *director.Config) { c.Prompts = fstest.MapFS{"work.tmpl": {Data: []byte("{{.Nobody}}")}} }, "work.tmpl"},
		{"BC47 a prompt that is none", func(c *director.Config) { c.Prompts = fstest.MapFS{"x.tmpl": {Data: []byte("x")}} }, "x.tmpl"},
		{"BC49 none", func(c *director.Config) {
			c.Policy.Retry = director.Retry{Conflicts: -1, Replans: -1, Stagnation: -1, Outages: -1}
			c.Bounds = director.Bounds{Depth: -1, Pauses: -1, Added: -1, TaskTime: -1, HumanTime: -1, Watch: director.Watch{Calls: -1, Every: -1, Inactivity: -1}}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config()
			tt.change(&cfg)
			_, err := director.New(cfg)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("BC53 all faults at once", func(t *testing.T) {
		_, err := director.New(director.Config{Bounds: director.Bounds{Depth: -5}})
		for _, want := range []string{"director: ", "Agents.Director", "Agents.Strategist", "Profiles is empty", "Bounds.Depth"} {
			require.ErrorContains(t, err, want)
		}
	})
	t.Run("B40 B109 defaults: three at once, 3 retries", func(t *testing.T) {
		var in []blackboard.Definition
		for _, id := range []string{"a_plan", "b_plan", "c_plan", "d_plan", "e_plan"} {
			in = append(in, define(id))
		}
		s := script{cfg: bare(), in: director.Input{Tasks: in}, roles: map[string]func(asked) any{
			"work": func(a asked) any { return slow{time.Duration(len(a.task)) * time.Minute, nil} },
		}}
		p := s.play(t)
		require.NoError(t, p.err)
		most, now := 0, 0
		for _, e := range p.events(t, director.EventTaskMoved) {
			if e.To == "ACTIVE" {
				now++
			}
			if e.From == "ACTIVE" {
				now--
			}
			most = max(most, now)
		}
		assert.Equal(t, 3, most, "BA107 BA108")
	})
	t.Run("BA106 B40 BC28 a full profile holds up nobody", func(t *testing.T) {
		s := script{cfg: config(), in: director.Input{Tasks: []blackboard.Definition{define("a_build"), define("b_build"), define("c_build"), define("d_test")}}, roles: map[string]func(asked) any{
			"work": func(asked) any { return slow{time.Minute, nil} },
		}}
		s.cfg.Policy.NoTestPlaceholders, s.cfg.Profiles[1].Limit = true, 1
		s.in.Tasks[3].Priority = 5
		p := s.play(t)
		require.NoError(t, p.err)
		first := p.events(t, director.EventTaskDispatched)
		assert.Equal(t, []string{"a_build", "d_test"}, []string{first[0].Task, first[1].Task})
	})
}

func TestConfigJSON(t *testing.T) {
	whole := director.Config{
		Name: "n", Agents: director.Agents{Director: "d", Strategist: "s", Guardian: "g", Worktree: "w", Check: "c"},
		Profiles: []director.Profile{{ID: "p", Agent: "a", Phases: []string{"plan"}, Does: "x", Tools: []string{"code"}, Limit: 2, Check: []string{"go", "test"}, Estimate: providers.Dollars(0.05)}},
		Policy: director.Policy{
			Phases: []string{"plan"}, Components: []string{"db"}, NoTestPlaceholders: true, GiveUp: true, AllowPartial: true, ReturnWhenWaiting: true,
			DropFailed: true, OnAbandoned: "block", OnSilence: "abandon",
			Retry: director.Retry{Attempts: 5, Conflicts: orchestrator.None, Replans: 2, Stagnation: 3, Outages: 4},
		},
		Rules: director.Rules{
			Router: orchestrator.ByKeywords{Cut: 0.5}, Scheduler: routing.Preference{AgeEvery: time.Hour}, Retrier: orchestrator.Attempts{Wait: time.Second},
			Gates: director.Gates{Review: director.Strict{}, Guardian: director.Courses{Aligned: 80, OffTopic: 60, OffCourse: 20, Nudges: 1}, Stagnation: director.Patience{}},
		},
		Limits: team.Limits{Cost: providers.Dollars(1.25), Calls: 9, Estimate: providers.Dollars(0.01)},
		Bounds: director.Bounds{
			Parallel: 1, Tasks: 2, Depth: 3, Pauses: 4, Added: orchestrator.None, TaskTime: orchestrator.None, CallTime: time.Hour, HumanTime: time.Hour, Reserve: 7.5,
			Watch: director.Watch{Calls: 4, Every: time.Second, Inactivity: time.Minute, Async: true},
		},
	}
	t.Run("BC53 decode(encode(c)) is c", func(t *testing.T) {
		data, err := json.Marshal(whole)
		require.NoError(t, err)
		var again director.Config
		require.NoError(t, json.Unmarshal(data, &again))
		assert.Equal(t, whole, again)
	})
	t.Run("B109 a rule in JSON is the fields of its default", func(t *testing.T) {
		var c director.Config
		require.NoError(t, json.Unmarshal([]byte(`{"rules":{"scheduler":{"ageEvery":"1h"},"retrier":{"wait":"3s"},"gates":{"guardian":{"nudges":0}}}}`), &c))
		want := director.DefaultCourses
		want.Nudges = 0
		assert.Equal(t, director.Rules{
			Scheduler: routing.Preference{AgeEvery: time.Hour}, Retrier: orchestrator.Attempts{Wait: 3 * time.Second}, Gates: director.Gates{Guardian: want},
		}, c.Rules)
		c.Rules.Scheduler = routing.SchedulerFunc(func(ready []routing.Node, _ routing.Moment) []routing.Node { return ready })
		_, err := json.Marshal(c)
		require.ErrorContains(t, err, "Rules.Scheduler")
	})
	t.Run("B109 JSON names are the names of the fields", func(t *testing.T) {
		var c director.Config
		require.NoError(t, json.Unmarshal([]byte(`{"policy":{"retry":{"attempts":4,"stagnation":3}},"limits":{"cost":1.5,"calls":9},
			"bounds":{"parallel":3,"watch":{"calls":15,"every":60},"taskTime":"10m"}}`), &c))
		assert.Equal(t, director.Config{
			Policy: director.Policy{Retry: director.Retry{Attempts: 4, Stagnation: 3}},
			Limits: team.Limits{Cost: providers.Dollars(1.5), Calls: 9},
			Bounds: director.Bounds{Parallel: 3, TaskTime: 10 * time.Minute, Watch: director.Watch{Calls: 15, Every: time.Minute}},
		}, c)
	})
	t.Run("N21 further tries are attempts without the first", func(t *testing.T) {
		for text, want := range map[string]int{`{"maxRetries":3}`: 4, `{"maxRetries":0}`: 1, `{"attempts":2}`: 2, `{}`: 0, `{"maxRetries":9223372036854775807}`: math.MaxInt} {
			var c director.Config
			require.NoError(t, json.Unmarshal([]byte(`{"policy":{"retry":`+text+`}}`), &c), text)
			assert.Equal(t, want, c.Policy.Retry.Attempts, text)
		}
		c := director.Config{Policy: director.Policy{Retry: director.Retry{Conflicts: 7}}}
		require.NoError(t, json.Unmarshal([]byte(`{"policy":{"retry":{"maxRetries":-1}}}`), &c))
		assert.Equal(t, 7, c.Policy.Retry.Conflicts, "what is not in the JSON stays")
		_, err := director.New(c)
		require.ErrorContains(t, err, "Policy.Retry.Attempts is -1, want 1 or more")
	})
	for text, fault := range map[string]string{
		`{"policy":{"retry":{"maxRetries":1,"attempts":2}}}`: "maxRetries is set beside attempts, want one of them",
		`{"limits":{"cost":"much"}}`:                         "limits.cost",
		`{"limits":{"budget":1}}`:                            "limits.budget is unknown",
		`{"bounds":{"watch":{"every":"x"}}}`:                 "bounds.watch.every is",
		`{"profiles":[{"id":"x","limits":1}]}`:               "profiles[0].limits is unknown",
		`{"hooks":{}}`:                                       "hooks is unknown",
		`{"rules":{"gate":{}}}`:                              "rules.gate is unknown",
		`{"rules":{"gates":{"guardian":{"aligned":"x"}}}}`:   "guardian.aligned",
	} {
		var c director.Config
		require.ErrorContains(t, json.Unmarshal([]byte(text), &c), fault, text)
	}
}

func TestDomains(t *testing.T) {
	t.Run("BA128 B111 research and a report, by configuration alone", func(t *testing.T) {
		cfg := director.Report()
		cfg.Agents = director.Agents{Director: "director", Strategist: "strategist", Guardian: "guardian"}
		step := func(component, phase, profile string, needs ...string) director.TaskPlan {
			return director.TaskPlan{ID: component + "_" + phase, Component: component, Phase: phase, Profile: profile, DependsOn: needs, Criteria: []string{"it is done"}}
		}
		s := script{cfg: cfg, in: director.Input{
			Objective: "A report on AI in healthcare", Spec: map[string]json.RawMessage{"research": json.RawMessage(`{"scope":"hospitals","audience":"nurses","depth":"short"}`)},
		}, roles: map[string]func(asked) any{"decompose": func(asked) any {
			return director.Decomposition{Tasks: []director.TaskPlan{
				step("research", "plan", ""), step("research", "execute", "", "research_plan"), step("synthesis", "execute", "research_worker", "research_execute"),
				step("outline", "plan", "writer_worker", "synthesis_execute"), step("draft", "execute", "writer_worker", "outline_plan"),
				step("edit", "execute", "editor_worker", "draft_execute"), step("citations", "qa", "", "edit_execute"),
			}}
		}}}
		p := s.play(t)
		require.NoError(t, p.err)
		assert.Equal(t, orchestrator.Completed, p.out.Status)
		assert.Len(t, p.out.Board.Tasks, 7, "no placeholders: nothing is built")
		assert.Equal(t, "editor_worker", p.task(t, "citations_qa").Profile)
		assert.Contains(t, workInput(p.last(t, "research_plan")).Spec, "research", "B4")
		assert.Equal(t, "outline_plan by attempt 1", workInput(p.last(t, "draft_execute")).Inputs[0].Text)
	})
	t.Run("B111 a component that is not of the domain", func(t *testing.T) {
		s := script{cfg: director.Report(), in: director.Input{Objective: "x", Tasks: []blackboard.Definition{{ID: "a", Component: "db", Phase: "plan", Profile: "research_worker", Criteria: []string{"c"}}}}}
		s.cfg.Agents = config().Agents
		p := s.play(t)
		require.ErrorIs(t, p.err, director.ErrInput)
		require.ErrorContains(t, p.err, `component is "db"`)
	})
}
