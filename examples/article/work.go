package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/research"
)

// find is the work of a research worker: the script has its sources. They are made up, and
// their addresses do not exist.
func (s stage) find(in research.WorkerInput) (any, error) {
	text, err := s.script.Text(in.WorkerID, 1)
	if err != nil {
		return nil, err
	}
	var f research.Findings
	if err := json.Unmarshal([]byte(text), &f.Sources); err != nil {
		return nil, err
	}
	for i := range f.Sources {
		f.Sources[i].Excerpt += " " + rehearsal.Label
	}
	f.Summary = fmt.Sprintf("%s %d sources.", rehearsal.Label, len(f.Sources))
	return f, nil
}

// write is the work of the writer: the first draft is weak, the second one is not.
func (s stage) write(in research.WorkerInput) (any, error) {
	text, err := s.script.Text(in.WorkerID, in.Iteration)
	return research.Draft{Title: "At the door, at the screen, at the desk", Content: invented + "\n\n" + text}, err
}

// invented begins every draft.
const invented = "*" + rehearsal.Label + " The sources are made up: the text shows what the team does, not what is known.*"

// sources are those in a worker's input, each once, in the order of the workers.
func sources(inputs map[string]json.RawMessage) []research.Source {
	var all []research.Source
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		var f research.Findings
		if json.Unmarshal(inputs[name], &f) != nil {
			continue // of another worker
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
func (s stage) analyse(in research.WorkerInput) (any, error) {
	found := sources(in.Inputs)
	themes := make([]theme, len(s.words))
	for i, w := range s.words {
		themes[i] = theme{w, len(about(w, found))}
	}
	note, err := s.script.Text(in.WorkerID, in.Iteration)
	return map[string]any{"note": note, "themes": themes}, err
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

// check is the work of editor, fact checker and the others: they count the links of a text.
func (stage) check(in research.WorkerInput) (any, error) {
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
	return map[string]any{"note": rehearsal.Label, "claims": paragraphs, "with_source": linked}, nil
}
