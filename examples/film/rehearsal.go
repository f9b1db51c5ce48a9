package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

// rehearsed is what the texts of the rehearsal begin with where they leave the
// program.
const rehearsed = "(Rehearsal, no model was asked.) "

// player is an agent of the rehearsal. It reads its prompt as a model would, and
// answers with sentences about the words of the request.
type player struct {
	id    string
	craft string        // what it is good at
	team  []string      // whose texts it makes one of, by the names of their data
	words []string      // of the request
	pace  time.Duration // of a call
}

// rehearse returns players for all agents of the studio.
func rehearse(request string, departments []hierarchy.Department, pace time.Duration) agent.Roster {
	roster := agent.Roster{}
	words := wanted(request)
	top := player{id: master, craft: "the whole film", words: words, pace: pace}
	for _, d := range departments {
		head := player{id: d.Head, craft: "the " + d.Name, words: words, pace: pace}
		for _, a := range d.Agents {
			head.team = append(head.team, a.Name)
			roster[a.ID] = player{id: a.ID, craft: a.Specialization, words: words, pace: pace}
		}
		roster[d.Head] = head
		top.team = append(top.team, d.Name)
	}
	roster[master] = top
	return roster
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	resp := agent.Response{Usage: providers.Usage{Calls: 1}}
	if req.Output != nil { // a figure is wanted: a head grades
		resp.Data = agent.JSON(p.grade(req.Prompt))
		return resp, nil
	}
	resp.Text = p.write(req.Prompt)
	return resp, nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// marks is what a head answers when it grades.
type marks struct {
	Quality     float64  `json:"quality"`
	Relevance   float64  `json:"relevance"`
	Consistency float64  `json:"consistency"`
	Suggestions []string `json:"suggestions"`
}

func (p player) grade(prompt string) marks {
	c := check(quoted(prompt)["output"], p.words)
	return marks{Quality: c.length, Relevance: c.coverage, Consistency: c.variety, Suggestions: c.suggestions()}
}

// write answers a prompt: with what others wrote, if it brings that, or alone.
func (p player) write(prompt string) string {
	material := quoted(prompt)
	var texts []string
	for _, name := range p.team {
		if text := material[name]; text != "" {
			texts = append(texts, text)
		}
	}
	label := ""
	if p.id == master {
		label = rehearsed
	}
	if len(texts) > 0 {
		return label + p.gather(texts)
	}
	return label + p.compose(p.takeUp(material))
}

// takeUp chooses the words to write about. A head takes all. A specialist's first
// try forgets some; the next ones take up what the feedback names.
func (p player) takeUp(material map[string]string) []string {
	if p.team != nil {
		return p.words
	}
	feedback, again := material["feedback"]
	before := set(material["previous attempt"])
	var words []string
	for _, w := range p.words {
		if again && (before[strings.ToLower(w)] || strings.Contains(feedback, fmt.Sprintf("%q", w))) || !again && dice(p.id+w, 5) < 2 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		words = p.words[:1]
	}
	return words
}

// lines are what can be said of a word, %[1]s, in the eyes of a craft, %[2]s.
var lines = []string{
	"The audience notices “%[1]s” before anybody on screen says a word.",
	"We hold on “%[1]s” a moment longer than is comfortable, then cut away.",
	"What “%[1]s” costs becomes clear only when somebody else looks at it.",
	"Under all the noise around it, “%[1]s” stays the one fixed point.",
	"Nobody explains “%[1]s” here; a glance and a pause do that work.",
	"From now on, everything that moves in the frame moves around “%[1]s”.",
	"For %[2]s this means that “%[1]s” comes early and returns at the end.",
	"A small thing, easy to miss, ties “%[1]s” to what happened before.",
	"When the rhythm breaks, “%[1]s” is both the reason and the answer.",
	"In the hands of %[2]s, “%[1]s” is where the risk becomes visible.",
	"The next image answers “%[1]s” with something quiet and very close.",
	"At the last second “%[1]s” turns out to matter more than it seemed.",
}

// compose writes a sentence about each word.
func (p player) compose(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, lines[(dice(p.id, len(lines))+i)%len(lines)], w, p.craft)
	}
	return b.String()
}

// gather takes a sentence about each word from one of the texts in turn, and
// writes one where none of them has it or where it was said already.
func (p player) gather(texts []string) string {
	var said []string
	for i, w := range p.words {
		s := about(w, texts[i%len(texts)])
		for j := 1; (s == "" || slices.Contains(said, s)) && j < len(texts); j++ {
			s = about(w, texts[(i+j)%len(texts)])
		}
		if s == "" || slices.Contains(said, s) {
			s = fmt.Sprintf(lines[(dice(p.id, len(lines))+i)%len(lines)], w, p.craft)
		}
		said = append(said, s)
	}
	return strings.Join(said, " ")
}

func about(word, text string) string {
	for _, s := range sentences(text) {
		if set(s)[strings.ToLower(word)] {
			return s
		}
	}
	return ""
}

var dataTag = regexp.MustCompile(`(?s)<data name="([^"\n]*)">\n(.*?)\n</data>`)

// quoted are the pieces of material in a prompt by their names.
func quoted(prompt string) map[string]string {
	pieces := map[string]string{}
	for _, m := range dataTag.FindAllStringSubmatch(prompt, -1) {
		pieces[m[1]] = m[2]
	}
	return pieces
}
