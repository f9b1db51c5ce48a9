package hierarchy_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/routing"
)

func TestLearn(t *testing.T) {
	t.Run("HC45 HX17 history and success rates of outcomes", func(t *testing.T) {
		one := trio(60, 95, 62, 30).play(t).out
		two := trio(60, 55, 61, 40).play(t).out
		e := hierarchy.Learn(one, two)
		assert.Equal(t, map[string][]float64{"a": {95, 55}, "b": {62, 61}, "c": {30, 40}}, e.History)
		assert.Equal(t, map[string]float64{"a": 50, "b": 100, "c": 0}, e.SuccessRates)
		third := hierarchy.Learn(one, two, one).SuccessRates
		assert.Equal(t, 66.666667, third["a"])
	})
	t.Run("HC45 what says nothing of an agent does not count", func(t *testing.T) {
		attempts := []hierarchy.Attempt{{}}
		output := json.RawMessage(`"x"`)
		result := func(s hierarchy.SpecialistResult) hierarchy.SpecialistResult {
			s.AgentID = "s"
			return s
		}
		for name, s := range map[string]hierarchy.SpecialistResult{
			"no attempt": {ReviewStatus: grading.Rejected},
			"no review":  {Attempts: attempts, Output: output, Score: 90},
			"not graded": {Attempts: attempts, Output: output, ReviewStatus: grading.Rejected, Ungraded: "down"},
			"assumed":    {Attempts: attempts, Output: output, Score: 70, ReviewStatus: grading.Approved, Assumed: "down"},
			"ungraded":   {Attempts: attempts, Output: output, Score: 75, ReviewStatus: grading.Approved, ScoreDefaulted: true},
		} {
			e := hierarchy.Learn(hierarchy.Outcome{Reports: []hierarchy.Report{{Specialists: []hierarchy.SpecialistResult{result(s)}}}})
			assert.Equal(t, hierarchy.Experience{History: map[string][]float64{}, SuccessRates: map[string]float64{}}, e, name)
		}
		failed := result(hierarchy.SpecialistResult{Attempts: attempts, ReviewStatus: grading.Rejected})
		e := hierarchy.Learn(hierarchy.Outcome{Reports: []hierarchy.Report{{Specialists: []hierarchy.SpecialistResult{failed}}}})
		assert.Equal(t, map[string]float64{"s": 0}, e.SuccessRates, "one that failed is no success")
		assert.Empty(t, e.History, "and has no score")
	})
	t.Run("HC45 H89 experience is used", func(t *testing.T) {
		var outs []hierarchy.Outcome
		for range 10 {
			outs = append(outs, trio(60, 90, 90).play(t).out)
		}
		e := hierarchy.Learn(outs...)
		th := trio(60, 64.9, 64.9)
		th.cfg.Rules.Threshold, th.in.History = grading.Adaptive{Fixed: grading.DefaultFixed}, e.History
		assert.Equal(t, 65.0, th.play(t).report(t, "d").Specialists[0].Threshold) // towards 80, by at most 5
	})
	t.Run("HC45 success rates choose specialists", func(t *testing.T) {
		before := trio(60, 10, 90).cfg.Departments
		before[0].Agents = append(before[0].Agents, specialist("new", 60))
		before[0].Agents[2].SuccessRate = new(55.0)
		after := hierarchy.Learn(trio(60, 10, 90).play(t).out).Rate(before)
		var rates []*float64
		for _, a := range after[0].Agents {
			rates = append(rates, a.SuccessRate)
		}
		assert.Equal(t, []*float64{new(0.0), new(100.0), new(55.0)}, rates)
		assert.Nil(t, before[0].Agents[0].SuccessRate, "a copy")
	})
}

func TestConfigJSON(t *testing.T) {
	read := func(t *testing.T, text string) hierarchy.Config {
		t.Helper()
		var cfg hierarchy.Config
		require.NoError(t, json.Unmarshal([]byte(text), &cfg))
		return cfg
	}
	t.Run("HC45 H83 H84 the fields of a content system", func(t *testing.T) {
		cfg := read(t, `{"departments": [{"id": "d", "head": "h",
			"coordinationSettings": {"minQualityThreshold": 70, "maxRetries": 0, "allowParallelExecution": false},
			"agents": [
				{"id": "s", "passingThreshold": 65, "executionSettings": {"maxRetries": 2, "timeout": 120, "temperature": 0.2}},
				{"id": "z", "passingThreshold": 0, "maxRetries": 0, "timeout": "5m"}
			]}]}`)
		assert.Equal(t, []hierarchy.Department{{
			ID: "d", Head: "h", MinQuality: new(70.0), Attempts: 1, Serial: true,
			Agents: []hierarchy.Agent{
				{ID: "s", PassingThreshold: new(65.0), Attempts: 3, Timeout: 2 * time.Minute, Temperature: new(0.2)},
				{ID: "z", PassingThreshold: new(0.0), Attempts: 1, Timeout: 5 * time.Minute},
			},
		}}, cfg.Departments)
		assert.False(t, read(t, `{"departments": [{"id": "d", "head": "h", "allowParallelExecution": true}]}`).Departments[0].Serial)
		plain := read(t, `{"departments": [{"id": "d", "head": "h"}]}`).Departments[0]
		assert.Equal(t, hierarchy.Department{ID: "d", Head: "h", MinQuality: new(80.0)}, plain, "what is absent has its default")
	})
	t.Run("HC50 a minimum that is absent is 80, and null is missing", func(t *testing.T) {
		for text, want := range map[string]*float64{
			`{}`: new(80.0), `{"coordinationSettings": {}}`: new(80.0),
			`{"minQuality": null}`: nil, `{"minQualityThreshold": null}`: nil, `{"coordinationSettings": {"minQualityThreshold": null}}`: nil,
			`{"minQuality": 0}`: new(0.0), `{"minQualityThreshold": 70}`: new(70.0), `{"coordinationSettings": {"minQuality": 70}}`: new(70.0),
		} {
			var d hierarchy.Department
			require.NoError(t, json.Unmarshal([]byte(text), &d), text)
			assert.Equal(t, want, d.MinQuality, text)
		}
		kept := hierarchy.Department{MinQuality: new(50.0)}
		require.NoError(t, json.Unmarshal([]byte(`{"id": "d"}`), &kept))
		assert.Equal(t, new(50.0), kept.MinQuality, "what is not mentioned stays")
		data, err := json.Marshal(hierarchy.Config{Departments: []hierarchy.Department{{ID: "d"}}})
		require.NoError(t, err)
		assert.JSONEq(t, `{"departments": [{"id": "d", "minQuality": null}]}`, string(data), "nil is null")
	})
	t.Run("HC50 HC3 null leads to 60, and absent to 80", func(t *testing.T) {
		for text, want := range map[string]float64{`"minQuality": null, `: 60, ``: 80} {
			cfg := read(t, `{"departments": [{`+text+`"id": "d", "head": "head", "agents": [{"id": "s", "attempts": 1}]}]}`)
			cfg.Rules.Grader = hierarchy.SelfGrader
			p := theater{cfg: cfg, in: request(), cast: cast{"s": {said("x", 90)}, "head": {"y"}}}.play(t)
			assert.Equal(t, want, p.report(t, "d").Specialists[0].Threshold, text)
		}
	})
	t.Run("HC50 two settings of one thing are a fault", func(t *testing.T) {
		for text, want := range map[string]string{
			`{"maxRetries": 1, "coordinationSettings": {"maxRetries": 2}}`:               "maxRetries is set, and coordinationSettings.maxRetries, too: want one of them",
			`{"attempts": 1, "coordinationSettings": {"attempts": 2}}`:                   "attempts is set, and coordinationSettings.attempts, too: want one of them",
			`{"attempts": 0, "maxRetries": 2}`:                                           "maxRetries is set beside attempts, want one of them",
			`{"minQuality": null, "minQualityThreshold": 70}`:                            "minQualityThreshold is set beside minQuality, want one of them",
			`{"serial": true, "coordinationSettings": {"allowParallelExecution": true}}`: "allowParallelExecution is set beside serial, want one of them",
			`{"id": "d", "id": "e"}`:                                                     "id is there more than once",
		} {
			var d hierarchy.Department
			require.EqualError(t, json.Unmarshal([]byte(text), &d), want, text)
			var cfg hierarchy.Config
			require.ErrorContains(t, json.Unmarshal([]byte(`{"departments": [`+text+`]}`), &cfg), "departments[0]", text)
		}
		var a hierarchy.Agent
		require.EqualError(t, json.Unmarshal([]byte(`{"timeout": "1m", "executionSettings": {"timeout": "2m"}}`), &a), "timeout is set, and executionSettings.timeout, too: want one of them")
	})
	t.Run("HC45 what is not the default is written", func(t *testing.T) {
		data, err := json.Marshal(hierarchy.Agent{ID: "s", Attempts: 1})
		require.NoError(t, err)
		assert.JSONEq(t, `{"id": "s", "attempts": 1}`, string(data))
		data, err = json.Marshal(hierarchy.Agent{ID: "s", Timeout: 90 * time.Second, Estimate: providers.Dollars(0.25)})
		require.NoError(t, err)
		assert.JSONEq(t, `{"id": "s", "timeout": "1m30s", "estimate": 0.25}`, string(data))
	})
	t.Run("HC45 the groups", func(t *testing.T) {
		cfg := read(t, `{"name": "n", "master": {"agent": "m", "consistency": "b"},
			"rules": {"router": {"cut": 0.4}, "analyzer": {"complexTerms": ["fancy"], "multiPart": [], "specialists": {"complex": 3}, "synonyms": {"art": ["drawing"]}},
				"gates": {"attempt": {"margin": 0}}, "scores": {"output": {"style": 1}}, "retrier": {"max": 2, "wait": "3s"}},
			"policy": {"attempts": 1, "headAttempts": 2, "synthesisRounds": 2, "headOnlyScore": 0, "assumeScore": 75, "strictReview": true, "gradeHeads": true, "resolveConflicts": true, "failOnPartial": true},
			"bounds": {"parallelDepartments": 1, "parallelSpecialists": 2, "promptBytes": 100, "quoteBytes": 50},
			"limits": {"calls": 30, "cost": 1.5, "allowUnpriced": true, "time": "10m", "estimate": 0.01}}`)
		assert.Equal(t, hierarchy.Config{
			Name: "n", Master: hierarchy.Master{Agent: "m", Consistency: "b"},
			Rules: hierarchy.Rules{
				Router: orchestrator.ByKeywords{Cut: 0.4},
				Analyzer: routing.Rules{
					ComplexTerms: []string{"fancy"}, MultiPart: []string{}, Specialists: routing.SpecialistCount{Complex: 3},
					Synonyms: map[string][]string{"art": {"drawing"}},
				},
				Retrier: orchestrator.Attempts{Max: 2, Wait: 3 * time.Second},
				Gates:   hierarchy.Gates{Attempt: grading.Bands{}},
				Scores:  hierarchy.Scores{Output: grading.Weighted{"style": 1}},
			},
			Policy: hierarchy.Policy{
				Attempts: 1, HeadAttempts: 2, SynthesisRounds: 2, HeadOnlyScore: new(0.0), AssumeScore: new(75.0),
				StrictReview: true, GradeHeads: true, ResolveConflicts: true, FailOnPartial: true,
			},
			Limits: team.Limits{Calls: 30, Cost: providers.Dollars(1.5), AllowUnpriced: true, Time: 10 * time.Minute, Estimate: providers.Dollars(0.01)},
			Bounds: hierarchy.Bounds{ParallelDepartments: 1, ParallelSpecialists: 2, PromptBytes: 100, QuoteBytes: 50},
		}, cfg)
	})
	t.Run("HC45 faults name their fields", func(t *testing.T) {
		for text, want := range map[string]string{
			`{"department": []}`: "department is unknown",
			`{"hooks": {}}`:      "hooks is unknown",
			`{"departments": [{"id": "d", "heads": "h"}]}`:                                "departments[0].heads is unknown",
			`{"departments": [{"agents": [{"maxRetries": "x"}]}]}`:                        "departments[0].agents[0].maxRetries is a JSON string, want a whole number",
			`{"departments": [{"agents": [{"executionSettings": {"timeout": "soon"}}]}]}`: `departments[0].agents[0].timeout is "soon", want a duration such as "5m", or a number of seconds`,
			`{"departments": [{"agents": [{"executionSettings": 3}]}]}`:                   "departments[0].agents[0].executionSettings is unknown",
			`{"departments": [{"allowParallelExecution": "no"}]}`:                         "departments[0].allowParallelExecution is unknown",
			`{"limits": {"cost": "1"}, "policy": {"gradeHead": true}}`:                    "policy.gradeHead is unknown\nlimits.cost is \"1\", want USD with at most 9 decimals",
		} {
			var cfg hierarchy.Config
			require.EqualError(t, json.Unmarshal([]byte(text), &cfg), want, text)
		}
	})
	t.Run("HC45 N21 further tries are tries without the first", func(t *testing.T) {
		for text, want := range map[string]int{
			`{"maxRetries": 3}`: 4, `{"maxRetries": 0}`: 1, `{"attempts": 4}`: 4, `{"attempts": 0}`: 0, `{}`: 0,
			`{"maxRetries": 9223372036854775807}`: math.MaxInt,
		} {
			var a hierarchy.Agent
			require.NoError(t, json.Unmarshal([]byte(text), &a), text)
			assert.Equal(t, want, a.Attempts, text)
		}
		for _, both := range []string{`{"maxRetries": 3, "attempts": 4}`, `{"attempts": 4, "executionSettings": {"maxRetries": 3}}`} {
			var a hierarchy.Agent
			require.EqualError(t, json.Unmarshal([]byte(both), &a), "maxRetries is set beside attempts, want one of them")
		}
	})
	t.Run("HC45 a Config with too many retries below none is refused at New", func(t *testing.T) {
		cfg := read(t, `{"departments": [{"id": "d", "head": "h", "maxRetries": -2}]}`)
		_, err := hierarchy.New(cfg)
		require.ErrorContains(t, err, "Attempts is -2, want 0 or more")
	})
	t.Run("HC45 what was written is read", rapid.MakeCheck(func(t *rapid.T) {
		score := rapid.Ptr(rapid.Float64Range(0, 100), true)
		text := rapid.StringN(0, 5, -1)
		attempts := rapid.IntRange(0, 5)
		agents := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hierarchy.Agent {
			return hierarchy.Agent{
				ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Specialization: text.Draw(t, "specialization"),
				Skills: rapid.SliceOf(text).Draw(t, "skills"), Inactive: rapid.Bool().Draw(t, "inactive"), SuccessRate: score.Draw(t, "rate"),
				PassingThreshold: score.Draw(t, "threshold"), Attempts: attempts.Draw(t, "attempts"), Temperature: score.Draw(t, "temperature"),
				Timeout: time.Duration(rapid.Int64().Draw(t, "timeout")), Estimate: providers.NanoUSD(rapid.Int64().Draw(t, "estimate")),
				Schema: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"type":"object"}`)}).Draw(t, "schema"),
			}
		}), 0, 2)
		want := hierarchy.Config{
			Departments: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hierarchy.Department {
				return hierarchy.Department{
					ID: text.Draw(t, "id"), Head: text.Draw(t, "head"), OutputKey: text.Draw(t, "key"), Priority: rapid.Int().Draw(t, "priority"),
					Keywords: rapid.MapOf(text, rapid.Int()).Draw(t, "keywords"), DependsOn: rapid.SliceOf(text).Draw(t, "needs"),
					MinQuality: score.Draw(t, "quality"), Gate: score.Draw(t, "gate"), Attempts: attempts.Draw(t, "attempts"),
					Serial: rapid.Bool().Draw(t, "serial"), Agents: agents.Draw(t, "agents"),
				}
			}), 0, 2).Draw(t, "departments"),
			Policy: hierarchy.Policy{
				AssumeScore: score.Draw(t, "assume"), FailOnPartial: rapid.Bool().Draw(t, "fail"),
				Attempts: attempts.Draw(t, "specialists"), HeadAttempts: attempts.Draw(t, "heads"),
			},
			Limits: team.Limits{Cost: providers.NanoUSD(rapid.Int64().Draw(t, "cost")), Time: time.Duration(rapid.Int64().Draw(t, "time"))},
		}
		data, err := json.Marshal(want)
		require.NoError(t, err)
		var got hierarchy.Config
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want, got)
	}))
	t.Run("HX4 blank names", func(t *testing.T) {
		for want, change := range map[string]func(c *hierarchy.Config){
			`Departments[0].ID is empty`:                      func(c *hierarchy.Config) { c.Departments[0].ID = " " },
			`Departments[1].ID is empty`:                      func(c *hierarchy.Config) { c.Departments[1].ID = "" },
			`Departments[0].Head is empty`:                    func(c *hierarchy.Config) { c.Departments[0].Head = "\t" },
			`Departments[0].Agents[0].ID is empty`:            func(c *hierarchy.Config) { c.Departments[0].Agents[0].ID = "\n" },
			`Rules.Agents has an empty name`:                  func(c *hierarchy.Config) { c.Rules.Agents = []string{" "} },
			`Policy.MinSynthesis is 1.5, want 0 to 1`:         func(c *hierarchy.Config) { c.Policy.MinSynthesis = 1.5 },
			`Policy.MinSynthesis is -0.5, want 0 to 1`:        func(c *hierarchy.Config) { c.Policy.MinSynthesis = -0.5 },
			`Policy.MinSynthesis is NaN, want 0 to 1`:         func(c *hierarchy.Config) { c.Policy.MinSynthesis = math.NaN() },
			`Policy.AssumeScore is 101, want 0 to 100`:        func(c *hierarchy.Config) { c.Policy.AssumeScore = new(101.0) },
			`Limits.Time is -2ns, want 0s or more`:            func(c *hierarchy.Config) { c.Limits.Time = -2 },
			`Limits.Estimate is -0.000000002, want 0 or more`: func(c *hierarchy.Config) { c.Limits.Estimate = -2 },
			`Policy.HeadAttempts is -1, want 1 or more`:       func(c *hierarchy.Config) { c.Policy.HeadAttempts = orchestrator.None },
			`Policy.Attempts is -1, want 1 or more`:           func(c *hierarchy.Config) { c.Policy.Attempts = orchestrator.None },
			`Departments[0].Agents[0].Estimate is -0.000000002, want 0 or more`: func(c *hierarchy.Config) {
				c.Departments[0].Agents[0].Estimate = -2
			},
			"synthesis.tmp is no template of the team": func(c *hierarchy.Config) { c.Prompts = misnamed },
			"Master.Consistency and Rules.Consistency are both set": func(c *hierarchy.Config) {
				c.Master.Consistency = "b"
				c.Rules.Consistency = func(*orchestrator.Context, []hierarchy.Report) ([]hierarchy.Issue, error) { return nil, nil }
			},
			"Policy.ResolveConflicts and Rules.Resolve are both set": func(c *hierarchy.Config) {
				c.Policy.ResolveConflicts = true
				c.Rules.Resolve = func(*orchestrator.Context, hierarchy.Department, string, []hierarchy.SpecialistResult) (string, error) {
					return "", nil
				}
			},
		} {
			require.ErrorContains(t, refused(t, change), want)
		}
	})
}
