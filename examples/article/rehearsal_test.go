package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
)

var words = []string{"tea", "water"}

// made is the result of so many research workers for a brief of 10 sources and 600
// words, as a supervisor gets it.
func made(workers int) result {
	r := result{Brief: research.Brief{Topic: "Tea and water", MinSources: 10, Length: 600}}
	inputs := map[string]json.RawMessage{}
	for _, w := range research.Catalogue()[:workers] {
		found := agent.JSON(fiveSources(w.ID))
		r.Research = append(r.Research, research.WorkerOutput{Worker: w.ID, Payload: found})
		inputs[w.ID] = found
	}
	r.Writing = []research.WorkerOutput{{Payload: agent.JSON(research.Draft{Content: essay(sources(inputs), r.Brief.Length/max(r.Brief.MinSources, 5*workers))})}}
	r.Quality = []research.WorkerOutput{{Worker: "editor"}}
	r.Sources, r.Words = len(r.sources()), len(strings.Fields(r.text()))
	return r
}

// fiveSources are of a kind of their own, in turn about tea and water.
func fiveSources(worker string) research.Findings {
	var f research.Findings
	for i := range 5 {
		f.Sources = append(f.Sources, research.Source{
			Title: words[i%2], URL: fmt.Sprintf("https://example.org/rehearsal/%s/%d", worker, i+1), Kind: worker, Excerpt: "Of tea and water.",
		})
	}
	return f
}

// essay has a section for each word, and in it a paragraph of so many words on each
// source that has it in its title.
func essay(found []research.Source, share int) string {
	var b strings.Builder
	said := 0
	b.WriteString("## Introduction\n\nOf tea and water.\n")
	for _, word := range words {
		fmt.Fprintf(&b, "\n## %s\n", word)
		for _, s := range found {
			if s.Title != word {
				continue
			}
			paragraph := fmt.Sprintf("[A source](%s) is about %s.", s.URL, word)
			for len(strings.Fields(paragraph)) < share {
				said++
				paragraph += fmt.Sprintf(" The thing number %d was said there and nowhere else.", said)
			}
			b.WriteString("\n" + paragraph + "\n")
		}
	}
	b.WriteString("\n## Conclusion\n\nSo much for both.\n")
	return b.String()
}

func marks(t *testing.T, r result) answer {
	t.Helper()
	m, ok := judge(r, words).(answer)
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

func TestWeakerResultsScoreLess(t *testing.T) {
	whole := marks(t, made(3))
	article := func(m answer) float64 { return m.Article }
	source := func(m answer) float64 { return m.Source }
	factual := func(m answer) float64 { return m.Factual }
	replace := func(old, with string) func(*result) {
		return func(r *result) { r.Writing[0].Payload = replaced(r, old, with) }
	}
	tests := []struct {
		name   string
		change func(r *result)
		mark   func(m answer) float64
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
		p, ok := data.(proposal)
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

func TestScript(t *testing.T) {
	s := newStage()
	known := map[string]bool{}
	var all []research.Source
	for _, w := range research.Catalogue() {
		if w.Category != research.Researching {
			continue
		}
		made, err := s.find(research.WorkerInput{WorkerID: w.ID})
		require.NoError(t, err)
		for _, source := range made.(research.Findings).Sources {
			assert.False(t, known[source.URL], "%s is there twice", source.URL)
			known[source.URL] = true
			assert.NotEmpty(t, source.Kind)
			assert.True(t, source.Relevance > 0 && source.Relevance <= 1, source.Title)
			assert.Less(t, len(rehearsal.Missing(s.words, source.Title+" "+source.Excerpt)), len(s.words), "%q is of the topic", source.Title)
			all = append(all, source)
		}
	}
	assert.Len(t, all, 19)
	for attempt, least := range map[int]int{1: 2, 2: 14} {
		made, err := s.write(research.WorkerInput{WorkerID: "article_writer", Iteration: attempt})
		require.NoError(t, err)
		urls := links(made.(research.Draft).Content)
		assert.GreaterOrEqual(t, len(urls), least)
		for _, url := range urls {
			assert.True(t, known[url], "draft %d links %s, which no worker found", attempt, url)
		}
		assert.True(t, strings.HasPrefix(made.(research.Draft).Content, "*(Rehearsal, no model was asked.) The sources are made up"))
	}
	_, err := s.find(research.WorkerInput{WorkerID: "somebody"})
	require.EqualError(t, err, "the script has no text for somebody at attempt 1")
}

func TestScriptIsForOneTopic(t *testing.T) {
	got := tool.Start(t.Context(), "Tea", "-db", filepath.Join(t.TempDir(), "a.db"))
	assert.Equal(t, cli.BadUsage, got.Code)
	assert.Contains(t, got.Err, `article: the rehearsal has a script for one topic alone, "AI in healthcare": another one needs a -model`)
}

func TestChecksCountLinks(t *testing.T) {
	r := made(1)
	checked, err := newStage().check(research.WorkerInput{Inputs: map[string]json.RawMessage{"article_writer": replaced(&r, "(https://example.org/rehearsal/web_search/1)", "")}})
	require.NoError(t, err)
	got := agent.JSON(checked)
	assert.JSONEq(t, `{"note":"(Rehearsal, no model was asked.)","claims":5,"with_source":4}`, string(got))
	counted, err := stage{newStage().script, []string{"tea", "wine"}}.analyse(research.WorkerInput{
		WorkerID: "content_synthesizer", Iteration: 1, Inputs: map[string]json.RawMessage{"web_search": agent.JSON(fiveSources("web_search"))},
	})
	require.NoError(t, err)
	data := string(agent.JSON(counted))
	assert.Contains(t, data, `"themes":[{"word":"tea","sources":5},{"word":"wine","sources":0}]`)
	assert.Contains(t, data, `"note":"Sources sorted by place of work`)
}

func TestBadInputOfAPlayer(t *testing.T) {
	_, err := rehearse(0)[planner].Call(t.Context(), agent.Request{Input: []byte(`[]`)})
	require.ErrorContains(t, err, "the rehearsal cannot answer")
}
