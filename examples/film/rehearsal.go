package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

// scripted is the request that the script answers.
const scripted = "Create a dramatic opening scene with Aladdin stealing bread"

//go:embed script/*.txt
var scriptFiles embed.FS

// player is an agent of the rehearsal: it answers with its script, and a head marks by
// rule.
type player struct {
	id     string
	script rehearsal.Script
	pace   time.Duration // of a call
}

// rehearse returns players for all agents of the studio.
func rehearse(departments []hierarchy.Department, pace time.Duration) agent.Roster {
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	roster := agent.Roster{}
	join := func(id string) { roster[id] = player{id, rehearsal.Script{Files: files}, pace} }
	join(master)
	for _, d := range departments {
		join(d.Head)
		for _, a := range d.Agents {
			join(a.ID)
		}
	}
	return roster
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	resp := agent.Response{Usage: providers.Usage{Calls: 1}}
	pieces, _ := rehearsal.Quoted(req.Prompt)
	if req.Output != nil { // a head is asked for marks
		resp.Data = agent.JSON(mark(pieces["output"]))
		return resp, nil
	}
	text, err := p.script.Text(p.id, attempt(pieces))
	if err != nil {
		return agent.Response{}, &agent.Error{Message: err.Error(), Codes: []agent.Code{"permanent"}}
	}
	if p.id == master {
		text = rehearsal.Label + "\n\n" + text
	}
	agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: text})
	resp.Text = text
	return resp, nil
}

// attempt is the number of the attempt that a prompt asks for: the feedback has a line for
// each earlier one.
func attempt(pieces map[string]string) int {
	if feedback := strings.TrimSpace(pieces["feedback"]); feedback != "" {
		return strings.Count(feedback, "\n") + 2
	}
	return 1
}

// marks is a head's answer when it grades. The figures are 0 to 1.
type marks struct {
	Quality     float64  `json:"quality"`
	Relevance   float64  `json:"relevance"`
	Consistency float64  `json:"consistency"`
	Suggestions []string `json:"suggestions"`
}

// enough is how many words a text needs.
const enough = 90

// rules describe mark, for people.
var rules = fmt.Sprintf("quality: %d words are enough; relevance: it has all of %s; consistency: no sentence comes twice", enough, pointNames())

// points are what a text must mention: one word of each.
var points = []struct{ name, words string }{
	{"who", "aladdin"},
	{"what", "bread loaf loaves"},
	{"the deed", "steal steals stealing stolen theft thief"},
	{"the danger", "danger guard sword chase"},
	{"the first moment", "opening first dawn begin"},
}

func pointNames() string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

// mark grades a text of any agent.
func mark(text string) marks {
	var m marks
	words := len(rehearsal.Tokens(text))
	if m.Quality = rehearsal.Ratio(words, enough); m.Quality < 1 {
		m.Suggestions = append(m.Suggestions, fmt.Sprintf("say more: %d words are not enough", words))
	}
	taken := 0
	for _, p := range points {
		if len(rehearsal.Missing(strings.Fields(p.words), text)) == len(strings.Fields(p.words)) {
			m.Suggestions = append(m.Suggestions, "show "+p.name)
			continue
		}
		taken++
	}
	m.Relevance = rehearsal.Ratio(taken, len(points))
	seen := map[string]bool{}
	said := sentences(text)
	for _, s := range said {
		seen[strings.ToLower(s)] = true
	}
	if m.Consistency = rehearsal.Ratio(len(seen), len(said)); m.Consistency < 1 {
		m.Suggestions = append(m.Suggestions, "say nothing twice")
	}
	return m
}

func sentences(text string) []string {
	var all []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(".!?;:", r) }) {
		if s = strings.Trim(s, " \n\"“”"); s != "" {
			all = append(all, s)
		}
	}
	return all
}
