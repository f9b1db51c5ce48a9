package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

// rehearse returns the agents without a model. Workers follow the script with the real
// tools.
func (s *shop) rehearse(pace time.Duration) agent.Roster {
	roster := s.roster()
	roster[boss] = player{pace, decide}
	roster[strategist] = player{pace, review}
	roster[guardian] = player{pace, watch}
	for _, p := range director.Software().Profiles {
		roster[p.ID] = worker{p.ID, pace, s.tools}
	}
	return roster
}

// player is an agent of the rehearsal that answers its input.
type player struct {
	pace time.Duration
	play func(op string, input json.RawMessage) (string, error)
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	text, err := p.play(req.Op, req.Input)
	if err != nil {
		return agent.Response{}, fmt.Errorf("the rehearsal cannot answer: %w", err)
	}
	return agent.Response{Text: text}, nil
}

// decide is the script of the director.
func decide(op string, _ json.RawMessage) (string, error) {
	data, err := fs.ReadFile(script, "director."+op+".txt")
	return string(data), err
}

// review is the rule of the strategist: a criterion is met unless the work is missing, or a
// test about it fails. A failing test that is about none of them fails all.
func review(_ string, input json.RawMessage) (string, error) {
	var in director.ReviewInput
	if err := json.Unmarshal(input, &in); err != nil {
		return "", err
	}
	r := director.Review{Passed: in.Artifact.Size > 0}
	missed := map[int]string{}
	if in.Checks != nil && !in.Checks.Passed {
		r.Passed, r.Focus = false, "Run the tests before you say that you are done."
		r.Feedback = rehearsal.Label + " The tests fail:\n" + in.Checks.Output
		for _, test := range in.Checks.Failed {
			r.Tests = append(r.Tests, blackboard.TestAnalysis{Test: test, Fault: blackboard.CodeWrong, Analysis: "The test says what a criterion says; the code does something else."})
			for _, number := range about(test, in.Criteria) {
				missed[number] = test + " fails."
			}
		}
	}
	for _, c := range in.Criteria {
		why, failed := missed[c.Number]
		if len(missed) == 0 && !r.Passed {
			why, failed = "It is not there, or its tests did not run.", true
		}
		r.Criteria = append(r.Criteria, director.CriterionAnswer{Number: c.Number, Passed: !failed, Reasoning: cmp.Or(why, in.Artifact.Path+" is there, and no test about this fails.")})
	}
	return string(agent.JSON(r)), nil
}

var humps = regexp.MustCompile(`[A-Z][a-z0-9]*|[a-z0-9]+`)

// about are the numbers of the criteria that have all words of a test's name, or of all
// criteria.
func about(test string, criteria []director.Criterion) (numbers []int) {
	_, name, _ := strings.Cut(test, " ")
	words := slices.DeleteFunc(humps.FindAllString(name, -1), func(w string) bool { return w == "Test" })
	for _, c := range criteria {
		if len(rehearsal.Missing(words, c.Text)) == 0 {
			numbers = append(numbers, c.Number)
		}
	}
	if len(numbers) > 0 {
		return numbers
	}
	for _, c := range criteria {
		numbers = append(numbers, c.Number)
	}
	return numbers
}

// watch is the rule of the Guardian: a login is out of scope.
func watch(_ string, input json.RawMessage) (string, error) {
	var in director.AssessInput
	if err := json.Unmarshal(input, &in); err != nil {
		return "", err
	}
	name := "guardian.on.txt"
	for _, said := range slices.Backward(in.Messages) {
		if calls := strings.Join(said.Tools, "\n"); calls != "" {
			if strings.Contains(calls, `auth/`) {
				name = "guardian.off.txt"
			}
			break
		}
	}
	return mustRead(name), nil
}

// worker is a profile of the rehearsal: director.Worker with a scripted model.
type worker struct {
	name  string
	pace  time.Duration
	tools []agent.Tool
}

// Call implements agent.Agent.
func (w worker) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	task, attempt, err := assignment(req)
	if err != nil {
		return agent.Response{}, fmt.Errorf("the rehearsal cannot work: %w", err)
	}
	p, err := readPlay(w.name+"."+task, attempt)
	if err != nil {
		return agent.Response{}, err
	}
	return director.Worker(actor{p, w.pace}, w.tools...).Call(ctx, req)
}

// assignment is the task and the attempt of a request.
func assignment(req agent.Request) (task string, attempt int, err error) {
	if req.Op == "continue" {
		var in director.SliceInput
		err = json.Unmarshal(req.Input, &in)
		return in.Task, in.Attempt, err
	}
	var in director.WorkInput
	err = json.Unmarshal(req.Input, &in)
	return in.Task.ID, in.Attempt, err
}

// actor is a model that follows a play.
type actor struct {
	play *play
	pace time.Duration
}

// Generate implements providers.Model.
func (a actor) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	if err := rehearsal.Wait(ctx, a.pace); err != nil {
		return providers.Response{}, err
	}
	words, next := a.play.turn(req.Messages)
	if next == nil {
		return providers.Response{Text: words, Stop: providers.StopEnd}, nil
	}
	if req.OnText != nil && words != "" {
		if err := req.OnText(words); err != nil {
			return providers.Response{}, err
		}
	}
	call := next.call(req.Messages)
	call.Input = json.RawMessage(strings.ReplaceAll(string(call.Input), placeholder, named(req.Messages, call)))
	return providers.Response{Text: words, ToolCalls: []providers.ToolCall{call}, Stop: providers.StopTools}, nil
}

// Priced implements providers.Priced: a rehearsal is free.
func (actor) Priced() bool { return true }

const placeholder = "{{board name}}"

var (
	nameLine = regexp.MustCompile(`(?m)^Board name: (.+)$`)
	guidance = regexp.MustCompile(`(?s)<data name="guidance">\n(.*?)\n</data>`)
)

// named is the name of the board in a conversation, escaped for the JSON of a call.
func named(talk []providers.Message, call providers.ToolCall) string {
	name := "Todo Board"
	for _, m := range talk {
		if m.Role == providers.System {
			continue // the Guardian's guidance is no name
		}
		for _, form := range []*regexp.Regexp{guidance, nameLine} {
			if found := form.FindStringSubmatch(m.Text); found != nil {
				name = strings.Join(strings.Fields(found[1]), " ")
			}
		}
	}
	if strings.Contains(string(call.Input), ".html") {
		name = html.EscapeString(name)
	}
	quoted := string(agent.JSON(name))
	return quoted[1 : len(quoted)-1]
}
