package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

// scripted is the topic that the script is about.
const scripted = "How might a small library attract teenagers?"

//go:embed script/*.txt
var scriptFiles embed.FS

// player is a member of the rehearsal: it answers with its script, and the moderator marks
// by rule.
type player struct {
	role   discussion.Role
	script rehearsal.Script
	words  []string // of the topic
	pace   time.Duration
}

// rehearse returns players for all roles.
func rehearse(pace time.Duration) agent.Roster {
	const mostWords = 8
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	roster := agent.Roster{}
	for role := range instructions {
		roster[string(role)] = player{role, rehearsal.Script{Files: files}, rehearsal.Words(scripted, mostWords), pace}
	}
	return roster
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	t := readTalk(req.Prompt)
	switch p.role {
	case discussion.Moderator:
		return agent.Response{Data: agent.JSON(map[string]any{"evaluations": p.judge(t)})}, nil
	case discussion.UICreator:
		return agent.Response{Text: p.draw(t)}, nil
	case discussion.TeamLeader, discussion.Researcher, discussion.Ideation, discussion.Critic, discussion.Implementer, discussion.System:
	}
	text, err := p.say(t, req)
	if err != nil {
		return agent.Response{}, &agent.Error{Message: err.Error(), Codes: []agent.Code{"permanent"}}
	}
	agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: text})
	return agent.Response{Text: text}, nil
}

// say is the script's text for a member at this point.
func (p player) say(t talk, req agent.Request) (string, error) {
	switch part := string(p.role); {
	case p.role == discussion.TeamLeader && t.opening:
		return p.script.Text(part+".kickoff", 1)
	case p.role == discussion.TeamLeader && strings.Contains(t.task, "idea_id"):
		return p.choose(t)
	case p.role == discussion.TeamLeader:
		return p.script.Next(part+".synthesis", req.Prompt)
	case p.role == discussion.Ideation && req.Output != nil:
		return p.propose(t)
	case p.role == discussion.Ideation:
		return p.script.Next(part+".answer", req.Prompt)
	case p.role == discussion.Critic && strings.Contains(t.task, "Reply to that answer"):
		return p.script.Next(part+".reply", req.Prompt)
	default:
		return p.script.Next(part, req.Prompt)
	}
}

// idea is an idea in ideation's answer.
type idea struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Category    string `json:"category"`
}

// propose returns the ideas of the round; if ideas are missing, those of later rounds.
func (p player) propose(t talk) (string, error) {
	for round := t.round; ; round++ {
		text, err := p.script.Text(fmt.Sprintf("%s.%d", p.role, round), 1)
		var ideas []idea
		if err == nil {
			err = json.Unmarshal([]byte(text), &ideas)
		}
		if err != nil {
			return "", err
		}
		if t.missing > 0 {
			ideas = slices.DeleteFunc(ideas, func(i idea) bool { return t.has(i.Title) })
			ideas = ideas[:min(len(ideas), t.missing)]
		}
		if len(ideas) > 0 {
			return string(agent.JSON(map[string]any{"ideas": ideas})), nil
		}
	}
}

// choose names the first idea with the best score.
func (p player) choose(t talk) (string, error) {
	if len(t.ideas) == 0 {
		return "There are no ideas to choose from.", nil
	}
	best := slices.MaxFunc(t.ideas, func(a, b proposal) int { return cmp.Compare(a.score, b.score) })
	why, err := p.script.Text(string(p.role)+".select", 1)
	return fmt.Sprintf("{\"idea_id\":%q} %s %s", best.id, best.title+":", why), err
}

// evaluation is a moderator's evaluation of an idea.
type evaluation struct {
	ID       string             `json:"idea_id"` //nolint:tagliatelle // as prompts call it
	Criteria map[string]float64 `json:"criteria"`
	Pros     []string           `json:"pros"`
	Cons     []string           `json:"cons"`
	Feedback string             `json:"feedback"`
}

func (p player) judge(t talk) []evaluation {
	all := make([]evaluation, len(t.ideas))
	for i, idea := range t.ideas {
		c := check(idea, p.words, t.ideas)
		all[i] = evaluation{idea.id, c.marks, c.pros, c.cons, rehearsal.Label + " The marks come from checks of this text."}
	}
	return all
}

// draw makes a small page.
func (p player) draw(t talk) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html><body><p>%s</p><ol>", rehearsal.Label)
	for _, i := range t.ideas {
		fmt.Fprintf(&b, "<li>%s: %.1f</li>", html.EscapeString(i.title), i.score)
	}
	b.WriteString("</ol></body></html>")
	return b.String()
}
