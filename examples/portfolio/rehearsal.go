package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

//go:embed script/*
var scriptFiles embed.FS

// rules say what a rehearsal does.
var rules = fmt.Sprintf("Plans and results are from a script that was written by hand. The reviewer finds a criterion met if the result has every word "+
	"that the criterion quotes. A project's score is the share of criteria that were met; below 0.2 it is killed, from 0.7 promoted. "+
	"Calls are said to cost %s of the director and the reviewer, and %s of a worker.", cli.USD(price(planner)), cli.USD(price(worker)))

// price is what a call of an agent costs in a rehearsal.
func price(name string) providers.NanoUSD {
	if name == worker {
		return providers.Dollars(0.15)
	}
	return providers.Dollars(0.05)
}

// player is an agent of the rehearsal.
type player struct {
	name   string
	script rehearsal.Script
	pace   time.Duration
}

func rehearse(pace time.Duration) agent.Roster {
	files, err := fs.Sub(scriptFiles, "script")
	if err != nil {
		panic(err) // it is a folder of this package
	}
	roster := agent.Roster{}
	for _, name := range []string{planner, reviewer, worker} {
		roster[name] = player{name, rehearsal.Script{Files: files}, pace}
	}
	return roster
}

// Call implements agent.Agent.
func (p player) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	pace := p.pace
	if p.name == worker && bytes.Contains(req.Input, []byte("tide-clock")) {
		pace *= 4 // a clock takes longer than a letter to eleven gardeners
	}
	if err := rehearsal.Wait(ctx, pace); err != nil {
		return agent.Response{}, err
	}
	answer, err := p.answer(req)
	if err != nil {
		return agent.Response{}, &agent.Error{Message: err.Error(), Codes: []agent.Code{"permanent"}}
	}
	return agent.Response{Data: agent.JSON(answer), Usage: providers.Usage{Calls: 1, Cost: price(p.name)}}, nil
}

func (p player) answer(req agent.Request) (any, error) {
	switch req.Op {
	case "decompose":
		var in struct {
			Spec map[string]json.RawMessage `json:"spec"`
		}
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return nil, err
		}
		text, err := p.script.Text(fmt.Sprintf("%s.plan.%s", said(in.Spec["project"]), said(in.Spec["stage"])), 1)
		return json.RawMessage(text), err
	case "work":
		var in director.WorkInput
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return nil, err
		}
		text, err := p.script.Text(fmt.Sprintf("%s.%s", said(in.Spec["project"]), in.Task.ID), in.Attempt)
		return director.WorkerResult{Status: "complete", ResultPath: in.Task.ID + ".md", Summary: firstLine(text), Artifact: text}, err
	case "qa":
		var in director.ReviewInput
		if err := json.Unmarshal(req.Input, &in); err != nil {
			return nil, err
		}
		return review(in), nil
	}
	return nil, fmt.Errorf("the script has nothing for %s", req.Op)
}

// said is a text in JSON.
func said(data json.RawMessage) (text string) {
	_ = json.Unmarshal(data, &text) // no text is ""
	return text
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "# ")
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

// review finds the criteria met whose quoted words are all in the result.
func review(in director.ReviewInput) director.Review {
	r := director.Review{Passed: true}
	for _, c := range in.Criteria {
		var missing []string
		for _, m := range quoted.FindAllStringSubmatch(c.Text, -1) {
			if !strings.Contains(strings.ToLower(in.Artifact.Text), strings.ToLower(m[1])) {
				missing = append(missing, m[1])
			}
		}
		verdict := director.CriterionAnswer{Number: c.Number, Passed: missing == nil, Reasoning: "The result says it."}
		if missing != nil {
			r.Passed = false
			verdict.Reasoning = fmt.Sprintf("The result does not say %q.", missing)
			r.Feedback = strings.TrimSpace(r.Feedback + " " + verdict.Reasoning)
		}
		r.Criteria = append(r.Criteria, verdict)
	}
	return r
}
