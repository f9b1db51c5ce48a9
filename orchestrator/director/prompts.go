package director

import (
	"embed"
	"errors"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// promptData is what the templates are filled with. What agents work on is the JSON of
// Request.Input, never part of a prompt; what they said stands in messages by the function
// data alone.
type promptData struct {
	Op        string
	MaxTasks  int
	HasBuild  bool   // there is a build phase
	Abandoned bool   // a task was abandoned, and others need it
	Type      string // type of an escalation
	Kind      string // kind of a failure
	Ran       bool   // a command was run
	Refine    bool   // there is a placeholder

	Does     string // duties of a profile
	Worktree bool
	Retried  bool
	Resumed  bool // the worker continues from a checkpoint
	Insights []blackboard.Insight

	Tone, Verdict, Issue, Nudge string

	Attempt         int
	Conflict        bool
	Title           string
	Branch          string
	Feedback, Focus string
	Criteria        []blackboard.CriterionResult // criteria that were not met
	Tests           []blackboard.TestAnalysis
	Files           []string
}

// samples are values with which each template is tried.
func samples() map[string][]any {
	failure := promptData{
		Op: opWork, Attempt: 1, Title: "t", Branch: "b", Feedback: "f", Focus: "f", Criteria: []blackboard.CriterionResult{{Criterion: "c", Reasoning: "r", Suggestions: "s"}},
		Tests: []blackboard.TestAnalysis{{Test: "T", Analysis: "a", Fault: blackboard.CodeWrong}}, Files: []string{"a"},
	}
	conflict := failure
	conflict.Conflict = true
	broken := conflict
	broken.Kind = string(blackboard.MergeBroken)
	all := map[string][]any{
		"plan.tmpl":     {promptData{Op: opDecompose, MaxTasks: 1, HasBuild: true}, promptData{}},
		"change.tmpl":   {promptData{Op: opReview, Abandoned: true}, promptData{}},
		"escalate.tmpl": {promptData{Op: opSplit}},
		"replan.tmpl":   {promptData{Op: opReplan}},
		"conflict.tmpl": {promptData{Op: opConflict, Kind: string(blackboard.MergeBroken)}, promptData{}},
		"qa.tmpl":       {promptData{Op: opQA, Ran: true, Refine: true}, promptData{}},
		"assess.tmpl":   {promptData{Op: opAssess}},
		"work.tmpl":     {promptData{Op: opWork, Does: "d", Worktree: true, Retried: true, Resumed: true, Conflict: true}, promptData{}},
		"continue.tmpl": {promptData{Op: opContinue, Insights: []blackboard.Insight{{Summary: "s", SourceTask: "t"}}}},
		"nudge.tmpl":    {promptData{Tone: firm, Verdict: inCircles, Issue: "i", Nudge: "n"}, promptData{Tone: direct}, promptData{Tone: gentle}},
		"phoenix.tmpl":  {failure, conflict, broken, promptData{}},
	}
	for _, kind := range escalationTypes {
		all["escalate.tmpl"] = append(all["escalate.tmpl"], promptData{Op: opEscalate, Type: string(kind)})
	}
	return all
}

// escalationTypes are those that workers can raise.
var escalationTypes = []blackboard.EscalationType{
	blackboard.NeedsResearch, blackboard.NeedsReplanning, blackboard.SpecMismatch, blackboard.NeedsClarification, blackboard.BlockedExternal, blackboard.ScopeTooLarge,
}

// system is a system message filled from a template; fallback takes its place if the host's
// template fails or is empty.
func (r *run) system(c *orchestrator.Context, task, name string, data promptData, fallback string) []providers.Message {
	text, err := r.Run.Prompts.Fill(name, data)
	if err == nil && text == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		r.warn(c, "prompt", task, "%s cannot be used: %s", name, err)
		text = fallback
	}
	return []providers.Message{{Role: providers.System, Text: text}}
}
