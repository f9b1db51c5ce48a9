package bedrock

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/convene-go/convene/providers"
)

// plan says how a request's tools and its schema are put to a model.
type plan struct {
	tools  []providers.Tool
	choice string   // as in providers.Request
	answer string   // the tool whose input is the answer; "": there is none
	words  []string // for the system message
}

// abilities are what a model can be made to do.
type abilities struct {
	forced  bool // it may be forced to call a tool
	answers bool // schemas may become a tool
	none    bool // it may be forbidden to call tools
}

// planOf returns the plan for req: what the model cannot be made to do, it is told.
func planOf(req providers.Request, can abilities) plan {
	p := plan{tools: req.Tools, choice: req.ToolChoice}
	if len(req.Tools) == 0 {
		p.tools, p.choice = called(req), ""
		if len(p.tools) > 0 {
			p.choice = "none"
		}
	}
	if req.Output != nil && (p.choice == "" || p.choice == "none") {
		p.ask(req, can)
	}
	switch {
	case p.choice == "", p.choice == "none" && can.none, p.choice != "none" && can.forced:
		return p
	case p.choice == "none" && len(called(req)) == 0:
		p.tools = nil
	case p.choice == "none":
		p.words = append(p.words, "Call no tool now.")
	case p.choice == "required":
		p.words = append(p.words, "Answer by calling at least one of the tools.")
	default:
		p.words = append(p.words, fmt.Sprintf("Answer by calling the tool %q.", p.choice))
	}
	p.choice = ""
	return p
}

// ask plans for an answer by req's schema.
func (p *plan) ask(req providers.Request, can abilities) {
	if !can.forced || !can.answers || !isObject(req.Output) {
		p.words = append(p.words, "Your answer must be one JSON value that fits this JSON Schema, and nothing else:\n"+string(req.Output))
		return
	}
	p.answer = "answer"
	for slices.ContainsFunc(p.tools, func(t providers.Tool) bool { return t.Name == p.answer }) {
		p.answer += "_"
	}
	p.tools = append(slices.Clip(p.tools), providers.Tool{
		Name: p.answer, Description: "Takes your final answer.", Input: req.Output,
	})
	if p.choice == "" && len(req.Tools) > 0 {
		p.choice = "required" // a tool or the answer
		return
	}
	p.choice = p.answer
}

// isObject reports whether schema is of objects, which tools' inputs are.
func isObject(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// called returns the tools that were called before, of which nothing but the names
// is known. Bedrock refuses calls and results of tools in a request without any.
func called(req providers.Request) []providers.Tool {
	var out []providers.Tool
	for _, m := range req.Messages {
		for _, c := range m.ToolCalls {
			if !slices.ContainsFunc(out, func(t providers.Tool) bool { return t.Name == c.Name }) {
				out = append(out, providers.Tool{Name: c.Name})
			}
		}
	}
	return out
}
