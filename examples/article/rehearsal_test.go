package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/routing"
)

var words = []string{"tea", "water"}

// made is the result of so many research workers for a brief of 10 sources and 600
// words, as a supervisor gets it.
func made(workers int) result {
	r := result{Brief: research.Brief{Topic: "Tea and water", MinSources: 10, Length: 600}}
	inputs := map[string]json.RawMessage{}
	for _, w := range research.Catalogue()[:workers] {
		found := agent.JSON(find(research.WorkerInput{WorkerID: w.ID, Brief: r.Brief}, words))
		r.Research = append(r.Research, research.WorkerOutput{Worker: w.ID, Payload: found})
		inputs[w.ID] = found
	}
	r.Writing = []research.WorkerOutput{{Payload: agent.JSON(write(research.WorkerInput{Brief: r.Brief, Inputs: inputs}, words))}}
	r.Quality = []research.WorkerOutput{{Worker: "editor"}}
	r.Sources, r.Words = len(r.sources()), len(strings.Fields(r.text()))
	return r
}

func marks(t *testing.T, r result) research.Marks {
	t.Helper()
	m, ok := judge(r, words).(research.Marks)
	require.True(t, ok)
	return m
}

func TestMarksOfAWholeResult(t *testing.T) {
	m := marks(t, made(3))
	assert.Equal(t, 1.0, m.Article)
	assert.Equal(t, 1.0, m.Source)
	assert.Equal(t, 1.0, m.Factual)
	assert.Greater(t, m.Writing, 0.95)
	assert.Empty(t, m.Issues)
}

func TestLessIsMarkedLess(t *testing.T) {
	whole := marks(t, made(3))
	article := func(m research.Marks) float64 { return m.Article }
	source := func(m research.Marks) float64 { return m.Source }
	factual := func(m research.Marks) float64 { return m.Factual }
	replace := func(old, with string) func(*result) {
		return func(r *result) { r.Writing[0].Payload = replaced(r, old, with) }
	}
	tests := []struct {
		name   string
		change func(r *result)
		mark   func(m research.Marks) float64
		want   float64
		sum    string
	}{
		{"half the sources", func(r *result) { r.Sources = 5 }, source, 0.833333, "(0.5+1+1)/3"},
		{"links to nowhere", replace("/web_search/", "/elsewhere/"), source, 0.888889, "(1+1+10/15)/3"},
		{"claims without a known source", replace("/web_search/", "/elsewhere/"), factual, 0.666667, "10/15"},
		{"half the words", func(r *result) { r.Words = 300 }, article, 0.833333, "(1+0.5+1)/3"},
		{"a section is missing", replace("## water", "## wine"), article, 0.833333, "(1/2+1+1)/3"},
		{"no conclusion", replace("## Conclusion", ""), article, 0.888889, "(1+1+2/3)/3"},
		{"nothing was written", func(r *result) { r.Writing, r.Words = nil, 0 }, factual, 0, "no claims"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := made(3)
			tt.change(&r)
			assert.InDelta(t, tt.want, tt.mark(marks(t, r)), 1e-6, tt.sum)
		})
	}
	r := made(3)
	r.Quality = nil
	assert.InDelta(t, 0.5/3, whole.Writing-marks(t, r).Writing, 1e-6, "no editor has seen it")
	r = made(3)
	d := draft(&r)
	d.Content += strings.Repeat("Tea is tea. ", 100)
	r.Writing[0].Payload = agent.JSON(d)
	assert.Less(t, marks(t, r).Writing, whole.Writing-0.1, "it repeats itself")
}

func draft(r *result) research.Draft {
	var d research.Draft
	if err := json.Unmarshal(r.Writing[0].Payload, &d); err != nil {
		panic(err)
	}
	return d
}

func replaced(r *result, old, with string) json.RawMessage {
	d := draft(r)
	d.Content = strings.ReplaceAll(d.Content, old, with)
	return agent.JSON(d)
}

func TestOneResearchWorkerFallsShort(t *testing.T) {
	m := marks(t, made(1))
	assert.InDelta(t, 0.611111, m.Source, 1e-6, "5 of 10 sources, 1 of 3 kinds, all citations: (0.5+1/3+1)/3")
	assert.Zero(t, m.Factual, "no second kind of source")
	issues := strings.Join(m.Issues, "\n")
	assert.Contains(t, issues, "more research: 5 sources, want 10")
	assert.Contains(t, issues, "other kinds of sources: 1, want 3")
	assert.Contains(t, issues, "more depth: ")
	assert.Contains(t, issues, "5 of 5 claims have no second kind of source")
}

func TestPlan(t *testing.T) {
	ask := func(depth string, iteration int) []string {
		o := order{Brief: research.Brief{Depth: depth}, Iteration: iteration, Research: 2}
		in := agent.JSON(map[string]any{"brief": o.Brief, "iteration": iteration, "research_workers": 2, "workers": catalogue()})
		data, err := reading(plan)(in)
		require.NoError(t, err)
		p, ok := data.(research.Plan)
		require.True(t, ok)
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, strings.Join(s.Workers, " "))
		}
		return steps
	}
	assert.Equal(t, []string{"web_search", "content_synthesizer", "article_writer", "fact_checker editor citation_formatter"}, ask("standard", 1))
	assert.Equal(t, "web_search academic_search news_search", ask("standard", 2)[0], "one more than the sources are worth")
	assert.Equal(t, "web_search academic_search news_search web_scraper", ask("standard", 3)[0])
	assert.Equal(t, "fact_checker", ask("light", 1)[3])
	assert.Equal(t, "fact_checker editor citation_formatter seo_optimizer", ask("deep", 1)[3])
}

func catalogue() []map[string]any {
	var all []map[string]any
	for _, w := range research.Catalogue() {
		all = append(all, map[string]any{"id": w.ID, "category": w.Category})
	}
	return all
}

func TestSourcesAreOfTheTopic(t *testing.T) {
	for _, least := range []int{1, 5, 7, 10, 50} {
		seen := map[string]bool{}
		for _, w := range research.Catalogue()[:routing.ResearchWorkers(least)] {
			f, ok := find(research.WorkerInput{WorkerID: w.ID, Brief: research.Brief{MinSources: least}}, words).(research.Findings)
			require.True(t, ok)
			for _, s := range f.Sources {
				assert.False(t, seen[s.URL], s.URL)
				seen[s.URL] = true
				assert.Len(t, about("tea", []research.Source{s}), 1, s.Excerpt)
				assert.NotContains(t, fmt.Sprint(s), "%!")
			}
		}
		assert.GreaterOrEqual(t, len(seen), least, "as many workers as the sources are worth find enough")
	}
}

func TestEachSourceIsWrittenAboutOnce(t *testing.T) {
	r := made(3)
	assert.Len(t, links(r.text()), 15)
	assert.Len(t, claims(r.text()), 15)
	for i := range thoughts {
		assert.NotContains(t, thought("tea", i), "%!")
	}
	assert.NotEqual(t, thought("tea", 0), thought("tea", len(thoughts)))
}

func TestChecksCountLinks(t *testing.T) {
	r := made(1)
	got := agent.JSON(check(research.WorkerInput{Inputs: map[string]json.RawMessage{"article_writer": replaced(&r, "(https://example.org/rehearsal/web_search/1)", "")}}, nil))
	assert.JSONEq(t, `{"note":"(Rehearsal, no model was asked.)","claims":5,"with_source":4}`, string(got))
	found := agent.JSON(find(research.WorkerInput{WorkerID: "web_search", Brief: r.Brief}, words))
	got = agent.JSON(analyse(research.WorkerInput{Inputs: map[string]json.RawMessage{"web_search": found}}, []string{"tea", "wine"}))
	assert.JSONEq(t, `{"note":"(Rehearsal, no model was asked.)","themes":[{"word":"tea","sources":5},{"word":"wine","sources":0}]}`, string(got))
}

func TestBadInputOfAPlayer(t *testing.T) {
	_, err := rehearse(healthcare, 0)[planner].Call(t.Context(), agent.Request{Input: []byte(`[]`)})
	require.ErrorContains(t, err, "the rehearsal cannot read its input")
}
