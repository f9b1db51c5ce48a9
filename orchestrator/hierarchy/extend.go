package hierarchy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// AdaptThreshold moves the threshold of an agent towards what it has reached in
// Input.History, for Hooks.Threshold (H89): grading.Adapt says how.
func AdaptThreshold(in Input, a Agent, d Department) float64 {
	return grading.Adapt(grading.ResolveThreshold(a.PassingThreshold, d.MinQuality), in.History[a.ID])
}

// Recommend chooses the active specialists whose name, specialization and skills
// share the most words with the brief, for Hooks.Select (H90). Those with equally
// many come by success rate, highest first, then ID. Unlike the default it leaves
// nobody out who has none of the skills that the brief names.
func Recommend(s Selection) []Agent {
	wanted := words(s.Brief)
	var active []Agent
	shared := map[string]int{}
	for _, a := range s.Department.specialists() {
		if a.Inactive {
			continue
		}
		active = append(active, a)
		for word := range words(a.Name + " " + a.Specialization + " " + strings.Join(a.Skills, " ")) {
			if wanted[word] {
				shared[a.ID]++
			}
		}
	}
	rate := func(a Agent) float64 { return *or(a.SuccessRate, 0) }
	slices.SortStableFunc(active, func(a, b Agent) int {
		return cmp.Or(cmp.Compare(shared[b.ID], shared[a.ID]), cmp.Compare(rate(b), rate(a)), cmp.Compare(a.ID, b.ID))
	})
	return active[:min(max(s.Analysis.Estimate, 0), len(active))]
}

// words is the set of words of a text, in lower case, of at least four letters:
// shorter ones say little about what is meant.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len([]rune(word)) >= 4 {
			set[word] = true
		}
	}
	return set
}

// headResolve has the head say what holds where passing results contradict each
// other (H92).
func (r *run) headResolve(c *orchestrator.Context, d Department, brief string, passing []SpecialistResult) (string, error) {
	prompt, err := r.prompts.Fill("resolve.tmpl", resolvePrompt{d, brief, passing})
	if err != nil {
		return "", err
	}
	req := r.request(d.head(), prompt)
	req.Output = nil
	resp, err := c.Call(d.Head, req)
	return resp.Text, err
}

// askConsistency asks the agent that knows what was established before (H87).
func (r *run) askConsistency(c *orchestrator.Context, reports []Report) ([]Issue, error) {
	prompt, err := r.prompts.Fill("check.tmpl", checkPrompt{reports})
	if err != nil {
		return nil, err
	}
	found, _, err := orchestrator.Ask[struct {
		Issues []Issue `json:"issues"`
	}](c, r.cfg.Consistency, agent.Request{Prompt: prompt, Limits: agent.Limits{Total: defaultTimeout}})
	return found.Issues, err
}
