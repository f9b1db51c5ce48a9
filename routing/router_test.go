package routing_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/routing"
)

// desks are three targets for the requests of these tests.
func desks() []routing.Target {
	return []routing.Target{
		{ID: "story", Priority: 1, Base: 10, Keywords: map[string]int{"scene": 30, "dialogue": 35}},
		{ID: "visual", Priority: 2, Base: 10, Keywords: map[string]int{"scene": 25, "camera": 35}},
		{ID: "budget", Priority: 3, Base: 10, Keywords: map[string]int{"cost": 40}},
	}
}

func TestKeywords(t *testing.T) {
	var router routing.Router = routing.DefaultKeywords
	tests := []struct {
		name, request string
		cut           float64
		barred        []string
		primary       string
		supporting    []string
		considered    []string
		low           bool
	}{
		{"the default cut", "a scene with dialogue", routing.DefaultCut, nil, "story", []string{"visual"}, []string{"story", "visual", "budget"}, false},
		{"a cut of its own", "a scene with dialogue", 0.35, nil, "story", []string{}, []string{"story", "visual", "budget"}, false},
		{"a cut of 0", "a scene with dialogue", 0, nil, "story", []string{"visual", "budget"}, []string{"story", "visual", "budget"}, false},
		{"a barred target is considered, last, and not chosen", "a scene with dialogue", routing.DefaultCut, []string{"story"}, "visual", []string{}, []string{"visual", "budget", "story"}, false},
		{"barred targets do not count for the confidence", "a scene", routing.DefaultCut, []string{"story", "visual"}, "budget", []string{}, []string{"budget", "story", "visual"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			targets := desks()
			for i := range targets {
				targets[i].Barred = slices.Contains(tt.barred, targets[i].ID)
			}
			router := router
			if tt.cut != routing.DefaultCut {
				router = routing.Keywords{Cut: tt.cut}
			}
			route, err := router.Route(tt.request, targets)
			require.NoError(t, err)
			var considered []string
			for _, r := range route.Relevances {
				considered = append(considered, r.ID)
			}
			assert.Equal(t, tt.primary, route.Primary)
			assert.Equal(t, tt.supporting, route.Supporting)
			assert.Equal(t, tt.considered, considered)
			assert.Equal(t, tt.low, route.LowConfidence)
			require.NoError(t, route.Check(targets))
		})
	}
	t.Run("all are barred", func(t *testing.T) {
		targets := desks()
		for i := range targets {
			targets[i].Barred = true
		}
		route, err := router.Route("a scene", targets)
		require.ErrorContains(t, err, "relevances are empty")
		assert.Zero(t, route)
	})
	t.Run("Validate", func(t *testing.T) {
		require.NoError(t, routing.Keywords{}.Validate())
		require.NoError(t, routing.Keywords{Cut: 1}.Validate())
		require.EqualError(t, routing.Keywords{Cut: 1.1}.Validate(), "Cut is 1.1, want 0 to 1")
		require.EqualError(t, routing.Keywords{Cut: math.NaN()}.Validate(), "Cut is NaN, want 0 to 1")
	})
}

// Keywords decides as Decide does about the targets that are not barred.
func TestKeywordsIsDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var targets, open []routing.Target
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f]`), 1, 6, rapid.ID[string]).Draw(t, "ids") {
			target := routing.Target{
				ID: id, Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Base: rapid.IntRange(0, 40).Draw(t, "base"),
				Keywords: map[string]int{"rain": rapid.IntRange(0, 60).Draw(t, "rain"), "sun": rapid.IntRange(0, 60).Draw(t, "sun")},
				Barred:   rapid.Bool().Draw(t, "barred"),
			}
			if targets = append(targets, target); !target.Barred {
				open = append(open, target)
			}
		}
		cut, request := rapid.Float64Range(0, 1).Draw(t, "cut"), rapid.SampledFrom([]string{"", "rain", "sun and rain", "snow"}).Draw(t, "request")
		want, wantErr := routing.Decide(routing.Keyword(request, open), nil, cut)
		got, err := routing.Keywords{Cut: cut}.Route(request, targets)
		if wantErr != nil {
			require.EqualError(t, err, wantErr.Error())
			return
		}
		require.NoError(t, err)
		require.Len(t, got.Relevances, len(targets))
		got.Relevances = got.Relevances[:len(open)]
		require.Equal(t, want, got)
	})
}

func TestRouteCheck(t *testing.T) {
	targets := desks()
	targets[2].Barred = true
	route := func(primary string, supporting ...string) routing.Route {
		return routing.Route{Primary: primary, Supporting: supporting}
	}
	odd := route("story")
	odd.Relevances = []routing.Relevance{{ID: "story", Relevance: math.NaN()}, {ID: "visual", Relevance: 1.5}}
	for want, r := range map[string]routing.Route{
		"":                           route("story", "visual"),
		"ID 0 is empty":              route(""),
		`ID "story" is listed twice`: route("story", "visual", "story"),
		`"catering" is no target`:    route("story", "catering"),
		`"budget" is barred`:         route("budget"),
		"relevance of \"story\" is NaN, want 0 to 1\nrelevance of \"visual\" is 1.5, want 0 to 1": odd,
	} {
		if err := r.Check(targets); want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestFuncsAreRules(t *testing.T) {
	no := errors.New("no")
	var router routing.Router = routing.RouterFunc(func(request string, targets []routing.Target) (routing.Route, error) {
		return routing.Route{Primary: request + targets[0].ID}, no
	})
	route, err := router.Route("to ", desks())
	require.ErrorIs(t, err, no)
	assert.Equal(t, "to story", route.Primary)

	var analyzer routing.Analyzer = routing.AnalyzerFunc(func(brief string, skills []string) routing.Analysis {
		return routing.Analysis{Words: len(brief), Skills: skills}
	})
	assert.Equal(t, routing.Analysis{Words: 3, Skills: []string{"plot"}}, analyzer.Analyze("abc", []string{"plot"}))

	var selector routing.Selector = routing.SelectorFunc(func(c []routing.Candidate, n routing.Need) []routing.Candidate { return c[:n.Count] })
	assert.Len(t, selector.Select(make([]routing.Candidate, 3), routing.Need{Count: 2}), 2)

	var scheduler routing.Scheduler = routing.SchedulerFunc(func(ready []routing.Node, at routing.Moment) []routing.Node { return append(ready, at.Active...) })
	assert.Len(t, scheduler.Order(make([]routing.Node, 1), routing.Moment{Active: make([]routing.Node, 2)}), 3)
}

// Skills of the call are looked for beside those of the rules, which do not change.
func TestRulesAnalyzeSkills(t *testing.T) {
	var analyzer routing.Analyzer = routing.Rules{Skills: []string{"plot"}, Synonyms: map[string][]string{"voice": {"dubbing"}}}
	got := analyzer.Analyze("a detailed plot, dubbing and a theme", []string{"voice", "theme", "plot"})
	assert.Equal(t, []string{"plot", "theme", "voice"}, got.Skills)
	assert.Equal(t, routing.Complex, got.Complexity)

	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c]{1,2}`)
		rules := routing.Rules{Skills: rapid.SliceOf(word).Draw(t, "own")}
		skills, brief := rapid.SliceOf(word).Draw(t, "skills"), rapid.StringMatching(`[a-c ]{0,9}`).Draw(t, "brief")
		own := slices.Clone(rules.Skills)
		got := rules.Analyze(brief, skills)
		require.Equal(t, own, rules.Skills, "the rules have changed")
		rules.Skills = slices.Concat(own, skills)
		require.Equal(t, rules.Analyze(brief, nil), got)
	})
}
