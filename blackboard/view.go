package blackboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/convene-go/convene/providers"
)

// View is what one task's worker, reviewer and Guardian may read of the board.
// What it points to belongs to the board.
type View struct {
	Objective string `json:"objective"`
	Task      Task   `json:"task"`

	// Spec has the areas of the spec without those that are named like a component that
	// the task neither belongs to nor builds on, directly or through other tasks. All of
	// them if none is named like the task's own component.
	Spec map[string]json.RawMessage `json:"spec"`

	// Decisions apply to the task; Insights have no topic with a letter or digit, or one
	// that the task's words name, or come from a task that this one waited for.
	Decisions []Decision `json:"decisions,omitempty"`
	Insights  []Insight  `json:"insights,omitempty"`

	// Inputs are the results of the tasks that this one depends on, Subtasks of those
	// that it paused for.
	Inputs   []Result `json:"inputs,omitempty"`
	Subtasks []Result `json:"subtasks,omitempty"`

	Memory []providers.Message `json:"-"` // part of the conversation, not of this JSON
}

// Result is what a task delivered.
type Result struct {
	Task    string `json:"task"`
	Title   string `json:"title,omitempty"`
	Status  State  `json:"status"`
	Path    string `json:"path,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// View returns what is to be read for a task, or [ErrNoTask].
func (e *Editor) View(id string) (View, error) {
	t, err := e.task(id)
	if err != nil {
		return View{}, namedError("view", id, err)
	}
	v := View{Objective: e.b.Objective, Task: *t, Spec: map[string]json.RawMessage{}, Memory: e.b.Memories[id]}
	others := map[string]bool{}
	for i := range e.b.Tasks {
		others[e.b.Tasks[i].Component] = e.b.Tasks[i].Component != t.Component
	}
	_, sectioned := e.b.Spec[t.Component]
	base := e.foundations(t)
	for area, value := range e.b.Spec {
		if !sectioned || !others[area] || base[area] {
			v.Spec[area] = value
		}
	}
	for _, d := range e.b.DesignLog {
		if slices.Contains(d.AppliesTo, id) || len(d.AppliesTo) == 0 && !others[d.Area] {
			v.Decisions = append(v.Decisions, d)
		}
	}
	about, needs := t.words(), t.needs()
	for _, i := range e.b.Insights {
		if !slices.ContainsFunc(i.Topic, hasWords) || slices.Contains(needs, i.SourceTask) || slices.ContainsFunc(i.Topic, about.name) {
			v.Insights = append(v.Insights, i)
		}
	}
	v.Inputs, v.Subtasks = e.results(t.DependsOn), e.results(t.WaitingFor)
	return v, nil
}

// foundations are the components of the tasks that a task needs, directly or through
// others.
func (e *Editor) foundations(t *Task) map[string]bool {
	base, seen := map[string]bool{}, map[string]bool{}
	for next := t.needs(); len(next) > 0; {
		id := next[0]
		if next = next[1:]; !seen[id] {
			need := &e.b.Tasks[e.at[id]]
			seen[id], base[need.Component] = true, true
			next = append(next, need.needs()...)
		}
	}
	return base
}

// vocabulary are the words that a task is described with.
type vocabulary map[string]bool

func (t *Task) words() vocabulary {
	about := vocabulary{}
	for _, text := range append([]string{t.ID, t.Title, t.Description, t.Component, t.Phase}, t.Criteria...) {
		for _, word := range words(text) {
			about[word] = true
		}
	}
	return about
}

// name says whether all words of a tag are among them.
func (v vocabulary) name(tag string) bool {
	needed := words(tag)
	return len(needed) > 0 && !slices.ContainsFunc(needed, func(word string) bool { return !v[word] })
}

func hasWords(tag string) bool { return len(words(tag)) > 0 }

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func (e *Editor) results(ids []string) []Result {
	var results []Result
	for _, id := range ids {
		t := e.b.Tasks[e.at[id]]
		results = append(results, Result{Task: t.ID, Title: t.Title, Status: t.Status, Path: t.ResultPath, Summary: t.Summary})
	}
	return results
}

func namedError(verb, id string, err error) error {
	return fmt.Errorf("blackboard: %s: task %q: %w", verb, id, err)
}

func notBlocked(t *Task) error { return fmt.Errorf("it is %s, want BLOCKED", t.Status) }
