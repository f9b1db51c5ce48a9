// Package blackboard is the blackboard of one run of a team that works on tasks: what is to
// be done, what was decided and learned, and the state of every task.
//
// A [Board] is plain data and its JSON form is its snapshot. It is changed by an
// [Editor] alone, through [Change] values: [Editor.Apply] checks who makes a change, the
// table of task states, and every reference, and then changes the board in place; a
// change that is refused has changed nothing. The list of changes rebuilds the board.
//
// The editor schedules, too: it knows which tasks are due, which one is next under
// limits, and what waits for what.
//
// There is no clock and nothing is kept outside of the board: the same changes give the
// same board.
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
// Spec, DesignLog and Insights are kept when a task restarts; the Memories of that task
// are removed.
type Board struct {
	RunID     string `json:"run_id"`
	Objective string `json:"objective"`

	// Spec has the requirements by area, such as db or ui, in the form of the domain.
	Spec map[string]json.RawMessage `json:"spec,omitempty"`

	DesignLog []Decision `json:"design_log,omitempty"` // append-only
	Insights  []Insight  `json:"insights,omitempty"`   // append-only

	// Memories are the messages of the worker of a task, by the task's ID.
	Memories map[string][]providers.Message `json:"task_memories,omitempty"`

	Tasks    []Task          `json:"tasks,omitempty"` // in the order in which they were added
	Files    map[string]File `json:"filesystem,omitempty"`
	Guardian Guardian        `json:"guardian,omitzero"`
	Strategy Strategy        `json:"strategy_status"`
	Spent    providers.Usage `json:"spent,omitzero"`

	// Version counts the changes.
	Version int64 `json:"version"`
}

// Decision is an entry of the design log.
type Decision struct {
	ID        string    `json:"id"` // "" in a change: d1, d2, …
	Area      string    `json:"area"`
	AppliesTo []string  `json:"applies_to,omitempty"` // IDs of tasks; none: all tasks, or all of the component that is named like the area
	Summary   string    `json:"summary"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"timestamp,omitzero"` // of the change, in whole seconds: models read it
}

// Insight is something that one task found out and others can use. It needs no
// approval.
type Insight struct {
	ID         string    `json:"id"`              // "" in a change: i1, i2, …
	Topic      []string  `json:"topic,omitempty"` // tags; none: of interest to all
	Summary    string    `json:"summary"`
	SourceTask string    `json:"source_task,omitempty"`
	At         time.Time `json:"timestamp,omitzero"` // of the change, in whole seconds: models read it
}

// File says where a file of the virtual filesystem is kept. Its path in [Board.Files]
// is relative, with slashes.
type File struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Task   string `json:"task"` // which made it
	Hash   string `json:"hash,omitempty"`
}

// Guardian is what the Guardian keeps on the board.
type Guardian struct {
	LastReviewed string           `json:"last_reviewed_task,omitempty"`
	LastNudge    time.Time        `json:"last_nudge_time,omitzero"`
	Watches      map[string]Watch `json:"watches,omitempty"` // by task; removed when the task restarts
}

// Watch is what the Guardian has seen of an attempt at a task.
type Watch struct {
	Alignments    []float64 `json:"alignments,omitempty"` // 0 to 100, the oldest first
	Verdict       string    `json:"verdict,omitempty"`    // of the last check
	NudgesIgnored int       `json:"nudges_ignored,omitempty"`

	// These count from the last checkpoint: commit, saved checkpoint or dispatch.
	LastMessage time.Time `json:"last_message,omitzero"`
	Tokens      int64     `json:"tokens,omitempty"`
	ToolCalls   int64     `json:"tool_calls,omitempty"`
	Writes      int64     `json:"writes,omitempty"`
}

// New returns a board without tasks, or an error if the run or the objective is empty or
// the spec is no JSON.
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
