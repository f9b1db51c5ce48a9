package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// scripted is the objective that the script is about.
const scripted = "a Go package that parses and formats ISO 8601 durations, with tests"

//go:embed script/*.txt
var scriptFiles embed.FS

// script has the texts of the rehearsal, in files "<agent>.<task>.<attempt>.txt". A task
// is the ID of a step, or "goal"; for a supervisor the judged gate comes before it.
var script = func() fs.FS {
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	return files
}()

// text is an agent's text for a task at an attempt, from 1.
func text(part string, attempt int) (string, error) {
	data, err := fs.ReadFile(script, fmt.Sprintf("%s.%d.txt", part, attempt))
	if err != nil {
		return "", fmt.Errorf("the script has no text for %s at attempt %d", part, attempt)
	}
	return strings.TrimSpace(string(data)) + "\n", nil
}

// attempt is the number of the coder's text for a step from which code is, from 1; 0: none.
func attempt(step string, code *delivery.CodeOutput) int {
	for n := 1; code != nil; n++ {
		said, err := text("coder."+step, n)
		if err != nil {
			return 0
		}
		if written(said).Summary == code.Summary {
			return n
		}
	}
	return 0
}

// player is a member of the team that follows the script.
type player struct {
	role delivery.Role
	pace time.Duration
}

// rehearse returns players for all roles.
func rehearse(pace time.Duration) agent.Roster {
	roster := agent.Roster{}
	for role := range instructions {
		roster[string(role)] = player{role, pace}
	}
	return roster
}

// Call implements agent.Agent. It reads the request as a model would.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	if err := rehearsal.Wait(ctx, p.pace); err != nil {
		return agent.Response{}, err
	}
	task, n, err := look(req)
	said := ""
	if err == nil {
		said, err = text(string(p.role)+"."+task, n)
	}
	if err != nil {
		return agent.Response{}, &agent.Error{Message: err.Error(), Codes: []agent.Code{"permanent"}}
	}
	answer := json.RawMessage(said)
	if p.role == delivery.Coder {
		out := written(said)
		said, answer = out.Summary+out.Reason, agent.JSON(out)
	}
	agent.Report(ctx, agent.Progress{Kind: agent.ProgressText, Text: gist(said)})
	return agent.Response{Data: answer}, nil
}

// look returns the task of a request, and the attempt that it asks for or is about.
func look(req agent.Request) (task string, n int, err error) {
	switch req.Op {
	case delivery.OpPlan, delivery.OpSubPlan:
		in, err := read[delivery.PlanInput](req)
		if in.Blocked != nil {
			return in.Blocked.Step.ID, len(in.Reasons) + 1, err
		}
		return "goal", len(in.Reasons) + 1, err
	case delivery.OpCode, delivery.OpFix:
		in, err := read[delivery.CodeInput](req)
		return in.Step.ID, attempt(in.Step.ID, in.Previous) + 1, err
	case delivery.OpCheck, delivery.OpIntegrate:
		in, err := read[delivery.TestInput](req)
		return target(nil, in.Step), attemptAt(in.Step, in.Code), err
	case delivery.OpVerify:
		in, err := read[delivery.VerifyInput](req)
		if in.Gate == "goal" {
			return "goal", 1, err
		}
		return string(in.Gate) + "." + target(in.Plan, in.Step), attemptAt(in.Step, in.Code), err
	}
	return "", 0, fmt.Errorf("the script knows no %q", req.Op)
}

func read[In any](req agent.Request) (in In, err error) {
	err = json.Unmarshal(req.Input, &in)
	return in, err
}

// target is the ID of a step or of a plan, else the goal.
func target(p *delivery.Plan, s *delivery.Task) string {
	switch {
	case s != nil:
		return s.ID
	case p != nil:
		return p.ID
	}
	return "goal"
}

// attemptAt is the attempt at a step to which code belongs. That of a sub-plan has several
// pieces, and is reviewed once.
func attemptAt(s *delivery.Task, code *delivery.CodeOutput) int {
	if s == nil {
		return 1
	}
	return max(1, attempt(s.ID, code))
}

// written is a coder's text: a summary, and after it files, each below a line
// "-- name --". Without files it says why the step is too much for one attempt.
func written(said string) delivery.CodeOutput {
	var out delivery.CodeOutput
	summary, rest, more := strings.Cut("\n"+said, "\n-- ")
	out.Summary = strings.TrimSpace(summary)
	for more {
		var file, name string
		file, rest, more = strings.Cut(rest, "\n-- ")
		name, file, _ = strings.Cut(file, " --\n")
		f := delivery.File{Path: name, Content: strings.TrimRight(file, "\n") + "\n"}
		if strings.HasSuffix(name, "_test.go") {
			out.Tests = append(out.Tests, f)
		} else {
			out.Files = append(out.Files, f)
		}
	}
	if len(out.Files)+len(out.Tests) == 0 {
		return delivery.CodeOutput{NeedsSubPlan: true, Reason: out.Summary}
	}
	return out
}

// gist is the text of an answer without its data.
func gist(said string) string {
	var in struct {
		Analysis, Reason string
		Issues           []delivery.Issue
		Suggestions      []string
	}
	if json.Unmarshal([]byte(said), &in) != nil {
		return said
	}
	for _, i := range in.Issues {
		in.Suggestions = append(in.Suggestions, i.Description)
	}
	return cmp.Or(in.Analysis, in.Reason, strings.Join(in.Suggestions, " "))
}
