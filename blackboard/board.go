// Package blackboard has the blackboard that the agents of a run share: what is to be
// done, what was decided and learned, and the state of every task.
//
// A [Board] is plain data; its JSON form is its snapshot. Only an [Editor] changes it,
// by [Change] values: one action, who takes it, and when. The editor also schedules: it
// knows which tasks are due, which one is next, and what waits for what.
//
// Three rules hold:
//
//   - [Editor.Apply] checks first, then changes the board in place. A refused change has
//     changed nothing.
//   - [TaskTable] decides which role may move a task from which state to which.
//   - The package has no clock, and keeps nothing outside of the board. The same changes
//     lead to the same board, so a log of changes rebuilds it.
//
// An example adds a task and makes it ready:
//
//	b, err := blackboard.New("run-1", "a todo list", nil)
//	e, err := blackboard.Open(b, routing.Preference{})
//	err = e.Apply(blackboard.Change{By: blackboard.RoleDirector, At: now, Do: blackboard.AddTasks{Tasks: tasks}})
//	for _, c := range e.Evaluate(now) { // PLANNED tasks become READY or BLOCKED
//		err = e.Apply(c)
//	}
//	id, ok := e.Next(limits)
//
// Logs of runs and the stores that keep them are in blackboard/runlog. A board needs
// neither.
package blackboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
)

// Board is all that the agents of a run know and share.
//
// A task that restarts loses its Memories; Spec, DesignLog and Insights stay.
type Board struct {
	RunID     string `json:"runId"`     // never blank
	Objective string `json:"objective"` // never blank

	// Spec has the requirements by area, such as db or ui. Each value is JSON in the form
	// that the domain wants.
	Spec map[string]json.RawMessage `json:"spec,omitempty"`

	DesignLog []Decision `json:"designLog,omitempty"` // append-only
	Insights  []Insight  `json:"insights,omitempty"`  // append-only

	// Memories has the conversation of each task's worker, by the ID of the task.
	Memories map[string][]providers.Message `json:"memories,omitempty"`

	Tasks    []Task          `json:"tasks,omitempty"`   // the order is that in which they were added
	Files    map[string]File `json:"files,omitempty"`   // merged artifacts by path
	Guardian Guardian        `json:"guardian,omitzero"` // the Guardian's notes
	Strategy Strategy        `json:"strategy"`          // "" is read as Progressing
	Spent    providers.Usage `json:"spent,omitzero"`    // usage of the whole run, see [Spend]
	Version  int64           `json:"version"`           // number of changes so far
}

// Decision is an entry of the design log.
type Decision struct {
	ID   string `json:"id"`   // "" in a change: the editor gives d1, d2, …
	Area string `json:"area"` // such as db or ui; never blank

	// AppliesTo has IDs of tasks. Empty means all tasks, or those of the component that
	// is named like the area.
	AppliesTo []string `json:"appliesTo,omitempty"`

	Summary string    `json:"summary"`          // never blank
	Reason  string    `json:"reason,omitempty"` // "": none was given
	At      time.Time `json:"at,omitzero"`      // time of the change in whole seconds, because models read it
}

// Insight is what one task has found out and others can use. Nobody has to approve it.
type Insight struct {
	ID         string    `json:"id"`                   // "" in a change: the editor gives i1, i2, …
	Topic      []string  `json:"topic,omitempty"`      // tags; empty: of interest to all tasks
	Summary    string    `json:"summary"`              // never blank
	SourceTask string    `json:"sourceTask,omitempty"` // ID of the task that found it; "": none did
	At         time.Time `json:"at,omitzero"`          // time of the change in whole seconds, because models read it
}

// File says which commit has a file. Its path in [Board.Files] is relative, with slashes.
type File struct {
	Branch string `json:"branch"`         // branch of the attempt that made it
	Commit string `json:"commit"`         // commit of the merge
	Task   string `json:"task"`           // ID of the task that made it
	Hash   string `json:"hash,omitempty"` // hash of the content; "": not known
}

// Guardian is what the Guardian notes on the board.
type Guardian struct {
	LastReviewed string           `json:"lastReviewed,omitempty"` // task of the last check; "": none so far
	LastNudge    time.Time        `json:"lastNudge,omitzero"`     // zero: none so far
	Watches      map[string]Watch `json:"watches,omitempty"`      // watches by ID of the task; a task that restarts loses its own
}

// Watch is what the Guardian has seen of one attempt at a task.
type Watch struct {
	Alignments    []float64 `json:"alignments,omitempty"`    // each from 0 to 100, the oldest first
	Verdict       string    `json:"verdict,omitempty"`       // verdict of the last check; "": none so far
	NudgesIgnored int       `json:"nudgesIgnored,omitempty"` // 0 or more

	// The following count from the last commit, saved checkpoint or dispatch on.

	LastMessage time.Time `json:"lastMessage,omitzero"` // zero: none so far
	Tokens      int64     `json:"tokens,omitempty"`     // 0 or more
	ToolCalls   int64     `json:"toolCalls,omitempty"`  // 0 or more
	Writes      int64     `json:"writes,omitempty"`     // 0 or more
}

// New returns a board without tasks. It copies the spec. The error says whether runID or
// objective is blank, or what is wrong with the spec.
func New(runID, objective string, spec map[string]json.RawMessage) (*Board, error) {
	b := &Board{RunID: runID, Objective: objective, Strategy: Progressing, Spec: map[string]json.RawMessage{}}
	for area, value := range spec {
		b.Spec[area] = append(json.RawMessage(nil), value...)
	}
	if err := errors.Join(b.headFaults()...); err != nil {
		return nil, fmt.Errorf("blackboard: %w", err)
	}
	return b, nil
}
