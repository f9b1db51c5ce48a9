package blackboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/convene-go/convene/providers"
)

// View is the part of the board that the worker, the reviewer and the Guardian of one task
// read. Its slices, maps and pointers belong to the board: the caller may only read them.
type View struct {
	Objective string `json:"objective"` // objective of the whole run
	Task      Task   `json:"task"`      // the task that the view is for

	// Spec leaves out areas that are named like a component of other tasks. Areas stay if
	// they are named like the task's own component, or like one that it builds on. Spec is
	// whole if no area is named like the task's component.
	Spec map[string]json.RawMessage `json:"spec"`

	// Decisions are those that name the task, and those that name no task and whose area
	// is not named like another component.
	Decisions []Decision `json:"decisions,omitempty"`

	// Insights are those of the tasks that this one needs, those with a topic whose words
	// are all in the task's own texts, and those without a topic of letters or digits.
	Insights []Insight `json:"insights,omitempty"`

	Inputs   []Result `json:"inputs,omitempty"`   // results of the tasks in DependsOn
	Subtasks []Result `json:"subtasks,omitempty"` // results of the tasks in WaitingFor

	Memory []providers.Message `json:"-"` // conversation of the worker; requests carry it apart from this JSON
}

// Result is the result of a task that another one builds on.
type Result struct {
	Task    string `json:"task"`              // ID of the task
	Title   string `json:"title,omitempty"`   // its title; "": none
	Status  State  `json:"status"`            // its state
	Path    string `json:"path,omitempty"`    // path of the artifact; "": none
	Summary string `json:"summary,omitempty"` // the worker's words about it
}

// View returns the part of the board that concerns the task, or [ErrNoTask].
func (e *Editor) View(id string) (View, error) {
	t, err := e.task(id)
	if err != nil {
		return View{}, namedError("view", id, err)
	}
	v := View{Objective: e.b.Objective, Task: *t, Spec: map[string]json.RawMessage{}, Memory: e.b.Memories[id]}
	others := func(area string) bool { return area != t.Component && e.parts[area] }
	_, sectioned := e.b.Spec[t.Component]
	base := sync.OnceValue(func() map[string]bool { return e.foundations(t) }) // a walk through all that t needs
	for area, value := range e.b.Spec {
		if !sectioned || !others(area) || base()[area] {
			v.Spec[area] = value
		}
	}
	for _, d := range e.b.DesignLog {
		if slices.Contains(d.AppliesTo, id) || len(d.AppliesTo) == 0 && !others(d.Area) {
			v.Decisions = append(v.Decisions, d)
		}
	}
	about, needs := t.words(), t.needs()
	for _, i := range e.b.Insights {
		if !slices.ContainsFunc(i.Topic, hasWords) || slices.Contains(needs, i.SourceTask) || slices.ContainsFunc(i.Topic, about.covers) {
			v.Insights = append(v.Insights, i)
		}
	}
	v.Inputs, v.Subtasks = e.results(t.DependsOn), e.results(t.WaitingFor)
	return v, nil
}

// foundations returns the components of all tasks that t needs, directly or through
// others.
func (e *Editor) foundations(t *Task) map[string]bool {
	base, seen := map[string]bool{}, map[string]bool{}
	for next := t.needs(); len(next) > 0; {
		id := next[0]
		if next = next[1:]; !seen[id] {
			need := &e.b.Tasks[e.index[id]]
			seen[id], base[need.Component] = true, true
			next = append(next, need.needs()...)
		}
	}
	return base
}

// vocabulary is a set of words in lower case.
type vocabulary map[string]bool

// words returns the words of the texts that describe t.
func (t *Task) words() vocabulary {
	about := vocabulary{}
	for _, text := range append([]string{t.ID, t.Title, t.Description, t.Component, t.Phase}, t.Criteria...) {
		for _, word := range words(text) {
			about[word] = true
		}
	}
	return about
}

// covers reports whether tag has words and all of them are in v.
func (v vocabulary) covers(tag string) bool {
	needed := words(tag)
	return len(needed) > 0 && !slices.ContainsFunc(needed, func(word string) bool { return !v[word] })
}

func hasWords(tag string) bool { return len(words(tag)) > 0 }

// words returns the words of a text, which are letters and digits, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// results returns the results of tasks, in the order of ids.
func (e *Editor) results(ids []string) []Result {
	var results []Result
	for _, id := range ids {
		t := e.b.Tasks[e.index[id]]
		results = append(results, Result{Task: t.ID, Title: t.Title, Status: t.Status, Path: t.ResultPath, Summary: t.Summary})
	}
	return results
}

func namedError(verb, id string, err error) error {
	return fmt.Errorf("blackboard: %s: task %q: %w", verb, id, err)
}

func notBlocked(t *Task) error { return fmt.Errorf("it is %s, want BLOCKED", t.Status) }
