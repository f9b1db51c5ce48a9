package research_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/providers"
)

func TestBrief(t *testing.T) {
	share := func(x float64) *float64 { return &x }
	for _, tt := range []struct {
		name  string
		brief research.Brief
		want  string // "": it is fine
	}{
		{"R35 RC6 a topic alone", research.Brief{Topic: "x"}, ""},
		{"R35 a topic of 500 characters", research.Brief{Topic: strings.Repeat("é", 500)}, ""},
		{"R35 a topic of 501", research.Brief{Topic: strings.Repeat("é", 501)}, "topic has 501 characters"},
		{"R31 no topic", research.Brief{Topic: " "}, "topic is missing"},
		{"R33 content type", research.Brief{Topic: "x", ContentType: "song"}, `content_type is "song", want one of`},
		{"R33 tone", research.Brief{Topic: "x", Tone: "angry"}, `tone is "angry"`},
		{"R33 depth", research.Brief{Topic: "x", Depth: "abyss"}, `depth is "abyss"`},
		{"R35 length", research.Brief{Topic: "x", Length: 499}, "length is 499 words, want 500 to 10,000"},
		{"R35 length, its upper bound", research.Brief{Topic: "x", Length: 10_000}, ""},
		{"R35 sources", research.Brief{Topic: "x", MinSources: 51}, "min_sources is 51"},
		{"RC6 R31 light depth with many sources", research.Brief{Topic: "x", Depth: "light", MinSources: 13}, `contradicts depth "light"`},
		{"RC6 light depth with twelve", research.Brief{Topic: "x", Depth: "light", MinSources: 12}, ""},
		{"RC6 many sources with no depth said", research.Brief{Topic: "x", MinSources: 20}, ""},
		{"R34 quality", research.Brief{Topic: "x", MinQuality: share(1.01)}, "min_quality is 1.01"},
		{"R34 quality is no number", research.Brief{Topic: "x", MinQuality: share(math.NaN())}, "min_quality is NaN"},
		{"RX23 quality of 0", research.Brief{Topic: "x", MinQuality: share(0)}, ""},
		{"R35 budget", research.Brief{Topic: "x", MaxBudget: cents(49)}, "max_budget is 0.49 USD, want 0.50 to 50"},
		{"R35 budget, its upper bound", research.Brief{Topic: "x", MaxBudget: 50 * providers.USD}, ""},
		{"R35 time", research.Brief{Topic: "x", MaxTime: 59 * time.Second}, "max_time is 59s, want 1m to 2h"},
		{"R35 time, its upper bound", research.Brief{Topic: "x", MaxTime: 2 * time.Hour}, ""},
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
		p := project{brief: research.Brief{Topic: "x"}, cast: map[string][]any{"planner": {reference()}, "supervisor": {marks(0.9)}}}.play(t)
		b := p.state.Brief
		assert.Equal(t, "article", b.ContentType)
		assert.Equal(t, "professional", b.Tone)
		assert.Equal(t, "standard", b.Depth)
		assert.Equal(t, 2000, b.Length)
		assert.Equal(t, 10, b.MinSources)
		assert.Equal(t, 5*providers.USD, b.MaxBudget)
		assert.InDelta(t, 0.80, *b.MinQuality, 0)
		assert.Zero(t, b.MaxTime)
		p = project{brief: research.Brief{Topic: "x", Depth: "light"}, cast: map[string][]any{"planner": {reference()}, "supervisor": {marks(0.9)}}}.play(t)
		assert.Equal(t, 5, p.state.Brief.MinSources)
	})
	t.Run("R30 RC32 the host may refuse", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Admit = func(b research.Brief) error {
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
	t.Run("RX25 the host's panic is a refusal", func(t *testing.T) {
		p := scored(0.9)
		p.cfg.Admit = func(research.Brief) error { panic("oh") }
		require.ErrorIs(t, p.play(t).err, research.ErrRejected)
	})
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  research.Config
		reg  func(research.Registry) research.Registry
		want string
	}{
		{"RX22 iterations", research.Config{MaxIterations: -1}, nil, "MaxIterations is -1"},
		{"RX22 attempts", research.Config{Attempts: -1}, nil, "Attempts is -1"},
		{"R69 backoff", research.Config{BackoffBase: -1}, nil, "BackoffBase is -1ns"},
		{"R69 factor", research.Config{BackoffFactor: 0.5}, nil, "BackoffFactor is 0.5"},
		{"R60 step limit", research.Config{StepLimit: -1}, nil, "StepLimit is -1"},
		{"RA32 RC13 weights", research.Config{Weights: &grading.Weights{}}, nil, "Weights: grading: all weights are 0"},
		{"R48 a worker twice", research.Config{}, func(r research.Registry) research.Registry { return append(r, r[0]) }, `Workers[11] ("web_search") is there twice`},
		{"R48 a category", research.Config{}, func(r research.Registry) research.Registry { r[0].Category = "art"; return r }, `Category is "art"`},
		{"R59 a priority", research.Config{}, func(r research.Registry) research.Registry { r[0].Priority = "TOP"; return r }, `Priority is "TOP"`},
		{"R71 a fallback that is not there", research.Config{}, func(r research.Registry) research.Registry { r[0].Fallback = "ghost"; return r }, `Fallback is "ghost"`},
		{"R50 a cheaper worker of another kind", research.Config{}, func(r research.Registry) research.Registry { r[0].Cheaper = "editor"; return r }, `Cheaper is "editor"`},
		{"R73 no critical writer", research.Config{}, func(r research.Registry) research.Registry { return r[:5] }, "no worker is critical"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reg := research.Catalogue()
			if tt.reg != nil {
				reg = tt.reg(reg)
			}
			_, err := research.New(tt.cfg, reg)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("R48 R73 RC12 the catalogue", func(t *testing.T) {
		reg := research.Catalogue()
		var ids []string
		for _, w := range reg {
			ids = append(ids, w.ID)
			assert.Equal(t, w.ID == "article_writer", w.Critical, w.ID)
		}
		assert.Equal(t, []string{
			"web_search", "academic_search", "news_search", "web_scraper", "social_media", "content_synthesizer",
			"article_writer", "fact_checker", "editor", "citation_formatter", "seo_optimizer",
		}, ids)
	})
}
