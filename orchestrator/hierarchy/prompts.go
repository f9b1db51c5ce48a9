package hierarchy

import (
	"embed"
	"strings"
	"text/template"
)

//go:embed prompts/*.tmpl
var ownPrompts embed.FS

// The data of the templates, as the package comment says. They pass texts of agents
// through the function data, which delimits them.
type (
	briefPrompt struct {
		Request string
		Needs   []*Report
	}
	retryPrompt struct {
		Request  string
		Attempt  int      // the next one, from 1
		Previous string   // output of the attempt before; "": none
		Feedback string   // feedback of all attempts so far, a line each
		Fresh    bool     // nothing else of earlier attempts is told
		Marks    []string // marks to improve; nil: the usual ones
	}
	gradePrompt struct {
		Department Department
		Agent      Agent
		Request    string
		Output     string
		Marks      []string // marks of the grade; nil: the usual ones
	}
	resolvePrompt struct {
		Department Department
		Request    string
		Results    []SpecialistResult
	}
	synthesisPrompt struct {
		resolvePrompt
		Note string // note of the resolver
	}
	refinePrompt struct {
		Department   Department
		Request      string
		Draft        string
		Round, Total int
	}
	masterPrompt struct {
		Request string
		Reports []Report
	}
	checkPrompt struct{ Reports []Report }
)

// functions are those of the templates, beside what all teams have.
var functions = template.FuncMap{"text": Text, "number": number, "list": list}

// samples fill every template at New, with all fields and with as few as possible, so
// that a wrong field is found there.
func samples() map[string][]any {
	agent := Agent{Specialization: "s"}
	results := []SpecialistResult{{AgentName: "a"}, {AgentName: "b", Specialization: "s"}}
	report := Report{DepartmentName: "d"}
	reports := []Report{report}
	return map[string][]any{
		"brief.tmpl":     {briefPrompt{Needs: []*Report{&report}}},
		"retry.tmpl":     {retryPrompt{Previous: "p", Feedback: "f", Marks: usual}, retryPrompt{}, retryPrompt{Fresh: true}},
		"grade.tmpl":     {gradePrompt{Agent: agent, Marks: usual}, gradePrompt{}},
		"synthesis.tmpl": {synthesisPrompt{resolvePrompt{Results: results}, "n"}, synthesisPrompt{resolvePrompt: resolvePrompt{Results: results}}},
		"refine.tmpl":    {refinePrompt{}},
		"resolve.tmpl":   {resolvePrompt{Results: results}},
		"master.tmpl":    {masterPrompt{Reports: reports}},
		"check.tmpl":     {checkPrompt{reports}},
	}
}

// list joins words: "a, b and c".
func list(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}
