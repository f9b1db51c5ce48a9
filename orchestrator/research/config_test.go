package research_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

func TestBrief(t *testing.T) {
	for _, tt := range []struct {
		name  string
		brief research.Input
		want  string // "": it is fine
	}{
		{"R35 RC6 a topic alone", research.Input{Topic: "x"}, ""},
		{"R35 a topic of 500 characters", research.Input{Topic: strings.Repeat("é", 500)}, ""},
		{"R35 a topic of 501", research.Input{Topic: strings.Repeat("é", 501)}, "Topic has 501 characters"},
		{"N20 a control character", research.Input{Topic: "x\ny\x00"}, "Topic: line 2, character 2 is U+0000, a control character"},
		{"N20 no UTF-8", research.Input{Topic: "x\xff"}, "Topic: line 1, character 2 is not UTF-8"},
		{"N20 nothing that can be seen", research.Input{Topic: "\u200b"}, "Topic: it has 1 characters, and none that can be seen"},
		{"N20 line ends of Windows", research.Input{Topic: "x\r\ny"}, ""},
		{"R31 no topic", research.Input{Topic: " "}, "Topic is empty"},
		{"R33 content type", research.Input{Topic: "x", ContentType: "song"}, `ContentType is "song", want one of`},
		{"R33 tone", research.Input{Topic: "x", Tone: "angry"}, `Tone is "angry"`},
		{"R33 depth", research.Input{Topic: "x", Depth: "abyss"}, `Depth is "abyss"`},
		{"R35 length", research.Input{Topic: "x", Length: 499}, "Length is 499, want 500 to 10000"},
		{"R35 length, its upper bound", research.Input{Topic: "x", Length: 10_000}, ""},
		{"R35 sources", research.Input{Topic: "x", MinSources: 51}, "MinSources is 51"},
		{"RC6 R31 light depth with many sources", research.Input{Topic: "x", Depth: "light", MinSources: 13}, `contradicts depth "light"`},
		{"RC6 light depth with twelve", research.Input{Topic: "x", Depth: "light", MinSources: 12}, ""},
		{"RC6 many sources with no depth said", research.Input{Topic: "x", MinSources: 20}, ""},
		{"R34 quality", research.Input{Topic: "x", MinQuality: new(1.01)}, "MinQuality is 1.01"},
		{"R34 quality is no number", research.Input{Topic: "x", MinQuality: new(math.NaN())}, "MinQuality is NaN"},
		{"RX23 quality of 0", research.Input{Topic: "x", MinQuality: new(0.0)}, ""},
		{"R35 budget", research.Input{Topic: "x", Limits: team.Limits{Cost: cents(49)}}, "Limits.Cost is 0.49 USD, want 0.50 to 50"},
		{"R35 budget, its upper bound", research.Input{Topic: "x", Limits: team.Limits{Cost: 50 * providers.USD}}, ""},
		{"R35 time", research.Input{Topic: "x", Limits: team.Limits{Time: 59 * time.Second}}, "Limits.Time is 59s, want 1m to 2h"},
		{"R35 time, its upper bound", research.Input{Topic: "x", Limits: team.Limits{Time: 2 * time.Hour}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.brief.Validate()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("R34 R35 defaults", func(t *testing.T) {
		p := project{brief: research.Input{Topic: "x"}, cast: map[string][]any{"planner": {reference()}, "supervisor": {marks(0.9)}}}.play(t)
		b := p.state.Input
		assert.Equal(t, "article", b.ContentType)
		assert.Equal(t, "professional", b.Tone)
		assert.Equal(t, "standard", b.Depth)
		assert.Equal(t, 2000, b.Length)
		assert.Equal(t, 10, b.MinSources)
		assert.Equal(t, 5*providers.USD, b.Limits.Cost)
		assert.InDelta(t, 0.80, *b.MinQuality, 0)
		assert.Zero(t, b.Limits.Time)
		p = project{brief: research.Input{Topic: "x", Depth: "light"}, cast: map[string][]any{"planner": {reference()}, "supervisor": {marks(0.9)}}}.play(t)
		assert.Equal(t, 5, p.state.Input.MinSources)
	})
	t.Run("R30 RC32 the host may refuse", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Rules.Admit = func(b research.Input) error {
			if b.Tone == "professional" {
				return errBoom
			}
			return nil
		}
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrRejected)
		require.ErrorContains(t, got.err, "boom")
		assert.Empty(t, got.asked)
	})
	t.Run("RX25 the host's panic is a refusal, and a broken rule", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Rules.Admit = func(research.Input) error { panic("oh") }
		got := p.play(t)
		require.ErrorIs(t, got.err, research.ErrRejected)
		require.ErrorIs(t, got.err, research.ErrRule)
		require.EqualError(t, got.err, "research: Rules.Admit panicked: oh")
		assert.Equal(t, []orchestrator.Warning{{Code: "research/rule", Message: "Rules.Admit panicked: oh"}}, got.out.Warnings)
		assert.Equal(t, "RuleError", got.out.Failure.Type)
		assert.Equal(t, orchestrator.Failed, got.out.Status)
		assert.Empty(t, got.asked)
	})
}

func TestConfig(t *testing.T) {
	change := func(f func(all []research.Worker)) []research.Worker {
		all := research.Catalogue()
		f(all)
		return all
	}
	for _, tt := range []struct {
		name string
		cfg  research.Config
		want string
	}{
		{"RX22 iterations", research.Config{Policy: research.Policy{Iterations: -1}}, "Policy.Iterations is -1, want 0 or more"},
		{"RX22 attempts", retries(orchestrator.Attempts{Max: orchestrator.None}), "Rules.Retrier: Max is -1"},
		{"R69 wait", retries(orchestrator.Attempts{Wait: -1}), "Rules.Retrier: Wait is -1ns"},
		{"R69 factor", retries(orchestrator.Attempts{Factor: -0.5}), "Rules.Retrier: Factor is -0.5"},
		{"R69 factor is no number", retries(orchestrator.Attempts{Factor: math.NaN()}), "Rules.Retrier: Factor is NaN"},
		{"RX13 longest wait", retries(orchestrator.Attempts{Longest: -1}), "Rules.Retrier: Longest is -1ns"},
		{"R60 step limit", research.Config{Bounds: research.Bounds{StepLimit: -1}}, "Bounds.StepLimit is -1"},
		{"RX5 calls", research.Config{Limits: team.Limits{Calls: -2}}, "Limits.Calls is -2"},
		{"RX14 timeout", research.Config{Bounds: research.Bounds{Timeout: -1}}, "Bounds.Timeout is -1"},
		{"RC42 estimate", research.Config{Limits: team.Limits{Estimate: -2}}, "Limits.Estimate is -0.000000002"},
		{"N2 assumed score", research.Config{Policy: research.Policy{AssumeScore: new(1.5)}}, "Policy.AssumeScore is 1.5, want 0 to 1"},
		{"RC13 weights", research.Config{Rules: research.Rules{Scorer: grading.Weighted{"article": -1}}}, "Rules.Scorer: the weight of article is -1"},
		{"R48 a worker twice", research.Config{Workers: append(research.Catalogue(), research.Catalogue()[0])}, `Workers[11] ("web_search"): ID is empty or that of an earlier worker`},
		{"R48 no ID", research.Config{Workers: change(func(all []research.Worker) { all[1].ID = "" })}, `Workers[1] (""): ID is empty`},
		{"R48 a category", research.Config{Workers: change(func(all []research.Worker) { all[0].Category = "art" })}, `Category is "art"`},
		{"R59 a priority", research.Config{Workers: change(func(all []research.Worker) { all[0].Priority = "TOP" })}, `Priority is "TOP"`},
		{"RX14 a negative estimate", research.Config{Workers: change(func(all []research.Worker) { all[0].EstTime = -1 })}, "Workers[0].EstTime is -1, want 0s or more"},
		{"R71 a fallback that is not there", research.Config{Workers: change(func(all []research.Worker) { all[0].Fallback = "ghost" })}, `Fallback is "ghost"`},
		{"R71 itself as its fallback", research.Config{Workers: change(func(all []research.Worker) { all[0].Fallback = "web_search" })}, `Fallback is "web_search"`},
		{"R50 a cheaper worker of another kind", research.Config{Workers: change(func(all []research.Worker) { all[0].Cheaper = "editor" })}, `Cheaper is "editor"`},
		{"R50 a cheaper worker that is not as critical", research.Config{Workers: change(func(all []research.Worker) { all[1].Critical, all[0].Cheaper = true, all[1].ID })}, `Cheaper is "academic_search"`},
		{"RC48 a writer that revises", research.Config{Workers: change(func(all []research.Worker) { all[6].Revises = true })}, `Revises is for workers of category "quality"`},
		{"RC47 an unknown tone", research.Config{Workers: change(func(all []research.Worker) { all[6].For.Tones = []string{"angry"} })}, `For.Tones has "angry"`},
		{"R73 no critical writer", research.Config{Workers: research.Catalogue()[:5]}, "Workers: none is critical and of category"},
		{"an unknown prompt", research.Config{Prompts: fstest.MapFS{"plans.tmpl": {Data: []byte("x")}}}, "plans.tmpl is no template of the team, want one of evaluate.tmpl, merge.tmpl, plan.tmpl, strategy.tmpl, work.tmpl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.cfg.Workers == nil {
				tt.cfg.Workers = research.Catalogue()
			}
			_, err := research.New(tt.cfg)
			require.ErrorContains(t, err, "research: ")
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "\n", "it is the only fault")
		})
	}
	t.Run("RX22 all faults are in one error", func(t *testing.T) {
		_, err := research.New(research.Config{Bounds: research.Bounds{StepLimit: -1}, Rules: retries(orchestrator.Attempts{Max: -1}).Rules})
		for _, fault := range []string{"StepLimit", "Max", "Workers"} {
			require.ErrorContains(t, err, fault)
		}
	})
	t.Run("R48 R73 RC12 the catalogue", func(t *testing.T) {
		var ids []string
		for _, w := range research.Catalogue() {
			ids = append(ids, w.ID)
			assert.Equal(t, w.ID == "article_writer", w.Critical, w.ID)
		}
		assert.Equal(t, []string{
			"web_search", "academic_search", "news_search", "web_scraper", "social_media", "content_synthesizer",
			"article_writer", "fact_checker", "editor", "citation_formatter", "seo_optimizer",
		}, ids)
	})
	t.Run("New copies what it is given", func(t *testing.T) {
		p := scored(0.9)
		p.workers = research.Catalogue()
		c, _ := p.open(t)
		p.workers[6].Critical, p.workers[6].Needs[0] = false, "nothing"
		out, _, err := c.Run(t)
		require.NoError(t, err)
		assert.Equal(t, orchestrator.Completed, out.Status)
	})
}

func retries(a orchestrator.Attempts) research.Config {
	return research.Config{Rules: research.Rules{Retrier: a}}
}

func TestConfigJSON(t *testing.T) {
	whole := research.Config{
		Name: "paper", Agents: research.Agents{Planner: "p", Supervisor: "s", Strategist: "t", Merger: "m"}, Workers: research.Catalogue(),
		Rules: research.Rules{
			Scorer: grading.Weighted{"article": 1}, Ranker: research.Best{Latest: true},
			Retrier: orchestrator.Attempts{Max: 4, Factor: 1.5, Longest: time.Minute},
		},
		Policy: research.Policy{Iterations: 2, AssumeScore: new(0.0), WarnInfeasible: true},
		Limits: team.Limits{Calls: 9, Time: time.Hour, Estimate: cents(5)}, Bounds: research.Bounds{StepLimit: 2, Timeout: 90 * time.Second},
	}
	data, err := json.Marshal(whole)
	require.NoError(t, err)
	var again research.Config
	require.NoError(t, json.Unmarshal(data, &again))
	assert.Equal(t, whole, again)
	assert.Contains(t, string(data), `"estCost":0.2,"estTime":"5m0s"`)
	assert.Contains(t, string(data), `"rules":{"scorer":{"article":1},"ranker":{"latest":true},"retrier":{"max":4,"wait":"0s","factor":1.5,"longest":"1m0s","fresh":false,"final":false}}`)
	assert.Contains(t, string(data), `"limits":{"calls":9,"time":"1h0m0s","estimate":0.05},"bounds":{"stepLimit":2,"timeout":"1m30s"}`)

	data, err = json.Marshal(research.Config{Rules: research.Rules{Admit: func(research.Input) error { return nil }}, Prompts: fstest.MapFS{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"rules":{}}`, string(data), "functions and prompts stay out")

	for text, fault := range map[string]string{
		`{"bounds":{"timeout":300}}`:                    "",
		`{"limits":{"timeouts":300}}`:                   "limits.timeouts is unknown",
		`{"rules":{"retrier":{"wait":"soon"}}}`:         `rules.retrier.wait is "soon", want a duration`,
		`{"rules":{"grader":{}}}`:                       "rules.grader is unknown",
		`{"policy":{"iterations":"2"}}`:                 "policy.iterations is a JSON string, want a whole number",
		`{"agents":{"planer":"x"}}`:                     "agents.planer is unknown",
		`{"hooks":{}}`:                                  "hooks is unknown",
		`{"workers":[{"id":"a","estCost":"0.2"}]}`:      `workers[0].estCost is "0.2", want USD`,
		`{"workers":[{"id":"a","for":{"tone":["x"]}}]}`: "workers[0].for.tone is unknown",
	} {
		err := json.Unmarshal([]byte(text), &again)
		if fault == "" {
			require.NoError(t, err)
			assert.Equal(t, 5*time.Minute, again.Bounds.Timeout)
			continue
		}
		require.ErrorContains(t, err, fault, text)
	}
}

func TestInputJSON(t *testing.T) {
	given := `{"topic":"Tea","minQuality":0.9,"limits":{"cost":2.5,"time":"10m0s"}}`
	var in research.Input
	require.NoError(t, json.Unmarshal([]byte(given), &in))
	assert.Equal(t, research.Input{Topic: "Tea", MinQuality: new(0.9), Limits: team.Limits{Cost: cents(250), Time: 10 * time.Minute}}, in)
	data, err := json.Marshal(in)
	require.NoError(t, err)
	assert.JSONEq(t, given, string(data))
	for text, fault := range map[string]string{
		`{"topic":"Tea","max_budget":5}`:             "max_budget is unknown",
		`{"topic":"Tea","limits":{"budget":5}}`:      "limits.budget is unknown",
		`{"topic":"Tea","limits":{"cost":"5"}}`:      `limits.cost is "5", want USD`,
		`{"topic":"Tea","limits":{"time":"10"}}`:     `limits.time is "10", want a duration`,
		`{"topic":"Tea","preferredSources":"books"}`: "preferredSources is a JSON string",
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(text), &in), fault, text)
	}
	out, err := json.Marshal(research.Outcome{Metrics: research.Metrics{Duration: 90 * time.Second}, Outcome: orchestrator.Outcome{Spent: providers.Usage{Cost: cents(250)}}})
	require.NoError(t, err)
	assert.Contains(t, string(out), `"duration":"1m30s"`)
	assert.Contains(t, string(out), `"cost":2.5`)
}
