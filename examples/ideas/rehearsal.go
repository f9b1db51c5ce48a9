package main

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
)

const (
	mostWords = 8 // of a topic that the rehearsal takes up
	atOnce    = 3 // ideas that one contribution is about
)

// player is a member of the rehearsal. It reads its prompt as a model would, and
// answers by rule.
type player struct {
	role  discussion.Role
	words []string // of the topic
	pace  time.Duration
}

// rehearse returns players for all roles.
func rehearse(topic string, pace time.Duration) agent.Roster {
	roster := agent.Roster{}
	for role := range instructions {
		roster[string(role)] = player{role, rehearsal.Words(topic, mostWords), pace}
	}
	return roster
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	t := readTalk(req.Prompt)
	var resp agent.Response
	switch {
	case p.role == discussion.Moderator:
		resp.Data = agent.JSON(map[string]any{"evaluations": p.judge(t)})
	case p.role == discussion.Ideation && req.Output != nil:
		resp.Data = agent.JSON(map[string]any{"ideas": p.propose(t)})
	case p.role == discussion.UICreator:
		resp.Text = p.draw(t)
	default:
		resp.Text = p.speak(t)
	}
	return resp, nil
}

// propose has ideas: in the first round fresh ones, then better versions of earlier
// ones and a fresh one.
func (p player) propose(t talk) []idea {
	switch {
	case t.missing > 0:
		return p.fresh(t, t.missing)
	case t.round == 1:
		return p.fresh(t, 3+rehearsal.Dice(strings.Join(p.words, "+"), 3))
	}
	all := p.improved(t, 2)
	return append(all, p.fresh(t, 3-len(all))...)
}

// speak says what a member has to say in plain text.
func (p player) speak(t talk) string {
	var text string
	switch p.role {
	case discussion.TeamLeader:
		return p.lead(t)
	case discussion.Researcher:
		text = p.research(t.round)
	case discussion.Critic:
		text = p.doubt(t)
	case discussion.Implementer:
		text = p.carryOut(t)
	case discussion.Ideation:
		text = p.answer(t)
	case discussion.Moderator, discussion.UICreator, discussion.System: // they do not speak
	}
	return rehearsal.Label + " " + text
}

// angles are what a word suggests to a researcher.
var angles = []string{
	"who decides about %s, and who is never asked",
	"what %s costs today, in money and in time",
	"when people last changed their mind about %s",
	"what was tried with %s before, and why it ended",
	"where %s happens without anybody planning it",
	"what %s looks like to somebody who meets it for the first time",
}

func (p player) research(round int) string {
	said := make([]string, len(p.words))
	for i, w := range p.words {
		said[i] = fmt.Sprintf(angles[(rehearsal.Dice(w, len(angles))+round-1)%len(angles)], quote(w))
	}
	return "Questions that the topic's words suggest: " + strings.Join(said, "; ") + ". None of this was looked up."
}

func (p player) doubt(t talk) string {
	var said []string
	for _, i := range t.last(atOnce) {
		cons := check(i, p.words, t.ideas).cons
		if len(cons) == 0 {
			said = append(said, fmt.Sprintf("%s holds: the checks find nothing.", quote(i.title)))
			continue
		}
		said = append(said, fmt.Sprintf("%s may fail: %s.", quote(i.title), strings.Join(cons, "; ")))
	}
	return or(strings.Join(said, " "), "There are no ideas to doubt.")
}

func (p player) carryOut(t talk) string {
	var said []string
	for _, i := range t.last(atOnce) {
		if check(i, p.words, t.ideas).marks.Feasibility == grading.MaxIdeaScore {
			said = append(said, fmt.Sprintf("%s can begin next week, with the steps that it names.", quote(i.title)))
		} else {
			said = append(said, fmt.Sprintf("%s needs a first step, a person and a date.", quote(i.title)))
		}
	}
	return or(strings.Join(said, " "), "There are no ideas to carry out.")
}

// answer takes one doubt seriously.
func (p player) answer(t talk) string {
	better := p.improved(t, 1)
	if len(better) == 0 {
		return "The doubts are noted; the ideas say already what the checks look for."
	}
	return fmt.Sprintf("The doubts are fair, so this is a better version: %s", agent.JSON(map[string]any{"ideas": better}))
}

// lead opens, sums up or chooses.
func (p player) lead(t talk) string {
	if t.opening {
		return fmt.Sprintf("%s The topic is about %s. Let us bring these words together, two at a time, and say for each idea how it begins.", rehearsal.Label, list(p.words))
	}
	best, ok := p.best(t)
	switch {
	case !ok:
		return rehearsal.Label + " There are no ideas yet."
	case strings.Contains(t.task, "idea_id"):
		return fmt.Sprintf("{\"idea_id\":%q} %s %s has the best marks of all %d ideas.", best.id, rehearsal.Label, quote(best.title), len(t.ideas))
	}
	text := fmt.Sprintf("%s Round %d leaves %d ideas. By the checks %s is ahead.", rehearsal.Label, t.round, len(t.ideas), quote(best.title))
	if cons := check(best, p.words, t.ideas).cons; len(cons) > 0 {
		text += " What it lacks: " + strings.Join(cons, "; ") + "."
	}
	return text
}

// best is the first idea with the best score, or while there is none, with the best
// marks of the checks.
func (p player) best(t talk) (best proposal, ok bool) {
	top := -1.0
	for _, i := range t.ideas {
		score := i.score
		if score == 0 {
			score = check(i, p.words, t.ideas).mean()
		}
		if score > top {
			best, top, ok = i, score, true
		}
	}
	return best, ok
}

// evaluation is what a moderator says of an idea.
type evaluation struct {
	ID       string           `json:"idea_id"` //nolint:tagliatelle // as prompts call it
	Criteria grading.Criteria `json:"criteria"`
	Pros     []string         `json:"pros"`
	Cons     []string         `json:"cons"`
	Feedback string           `json:"feedback"`
}

func (p player) judge(t talk) []evaluation {
	all := make([]evaluation, len(t.ideas))
	for i, idea := range t.ideas {
		c := check(idea, p.words, t.ideas)
		all[i] = evaluation{idea.id, c.marks, c.pros, c.cons, rehearsal.Label + " The marks come from checks of this text."}
	}
	return all
}

// draw makes a little page.
func (p player) draw(t talk) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html><body><p>%s</p><ol>", rehearsal.Label)
	for _, i := range t.ideas {
		fmt.Fprintf(&b, "<li>%s: %.1f</li>", html.EscapeString(i.title), i.score)
	}
	b.WriteString("</ol></body></html>")
	return b.String()
}
