package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/routing"
)

// kinds are what the research workers find.
var kinds = map[string]string{
	"web_search": "web page", "academic_search": "paper", "news_search": "news article", "web_scraper": "long read", "social_media": "public thread",
}

// views are what an excerpt can say of two words.
var views = []string{
	"It follows what %s has meant for %s over the years",
	"It asks whether %s is the right answer to %s",
	"It counts the cases in which %s was decisive for %s",
	"It lets people speak who work with %s and have doubts about %s",
	"It compares three places in which %s met %s",
	"It describes how %s could do without %s",
}

// find is what a research worker does: its share of the wanted sources, each about two
// of the topic's words. All are rehearsed, and their addresses lead nowhere.
func find(in research.WorkerInput, words []string) any {
	worth := routing.ResearchWorkers(in.Brief.MinSources)
	share := (in.Brief.MinSources + worth - 1) / worth
	f := research.Findings{Summary: fmt.Sprintf("%s %d sources about %s.", rehearsal.Label, share, strings.Join(words, ", "))}
	from := rehearsal.Dice(in.WorkerID, len(views))
	for i := range share {
		a, b := words[i%len(words)], words[(i+1)%len(words)]
		f.Sources = append(f.Sources, research.Source{
			Title:     fmt.Sprintf("Rehearsed %s %d: %s", kinds[in.WorkerID], i+1, a),
			URL:       fmt.Sprintf("https://example.org/rehearsal/%s/%d", in.WorkerID, i+1),
			Kind:      kinds[in.WorkerID],
			Relevance: rehearsal.Ratio(len(rehearsal.Set(a+" "+b)), len(words)),
			Excerpt:   fmt.Sprintf(views[(from+i)%len(views)], quote(a), quote(b)) + ". " + rehearsal.Label,
		})
	}
	return f
}

func quote(word string) string { return "“" + word + "”" }

// sources are those in a worker's input, each once, in the order of the workers.
func sources(inputs map[string]json.RawMessage) []research.Source {
	var all []research.Source
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		var f research.Findings
		if json.Unmarshal(inputs[name], &f) != nil {
			continue // another worker's
		}
		for _, s := range f.Sources {
			if s.URL != "" && !known[s.URL] {
				known[s.URL] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// theme is a word of the topic and how many sources have it.
type theme struct {
	Word    string `json:"word"`
	Sources int    `json:"sources"`
}

// analyse counts which sources are about which word.
func analyse(in research.WorkerInput, words []string) any {
	found := sources(in.Inputs)
	themes := make([]theme, len(words))
	for i, w := range words {
		themes[i] = theme{w, len(about(w, found))}
	}
	return map[string]any{"note": rehearsal.Label, "themes": themes}
}

// about are the sources that have a word.
func about(word string, all []research.Source) []research.Source {
	var some []research.Source
	for _, s := range all {
		if len(rehearsal.Missing([]string{word}, s.Title+" "+s.Excerpt)) == 0 {
			some = append(some, s)
		}
	}
	return some
}

// check is what editor, fact checker and the others do: they count what the text links.
func check(in research.WorkerInput, _ []string) any {
	linked, paragraphs := 0, 0
	for _, name := range slices.Sorted(maps.Keys(in.Inputs)) {
		var d research.Draft
		if json.Unmarshal(in.Inputs[name], &d) != nil {
			continue
		}
		for _, p := range claims(d.Content) {
			paragraphs++
			linked += min(1, len(links(p)))
		}
	}
	return map[string]any{"note": rehearsal.Label, "claims": paragraphs, "with_source": linked}
}
