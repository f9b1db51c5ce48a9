package director

import (
	"time"

	"github.com/convene-go/convene/blackboard"
)

// Models read and write the names of the documents (depends_on), hosts those of the Go
// fields (dependsOn). The types here are parts of the board as models see them. Each has
// the fields of its type in blackboard, so that a conversion makes one of the other.

// Task is a blackboard.Definition as members get it.
type Task struct {
	ID          string   `json:"id"`                      // name, which no other task has
	Title       string   `json:"title,omitempty"`         // title; "": none
	Description string   `json:"description,omitempty"`   // the work in words; "": none
	Component   string   `json:"component"`               // part of the product
	Phase       string   `json:"phase"`                   // kind of work
	Profile     string   `json:"assigned_worker_profile"` // ID of its worker's profile
	Priority    int      `json:"priority"`                // higher is more important
	DependsOn   []string `json:"depends_on"`              // IDs of tasks that come first
	Criteria    []string `json:"acceptance_criteria"`     // criteria of its review
	Risk        *float64 `json:"risk,omitempty"`          // risk, 0 to 1; nil: 0.5
	Placeholder bool     `json:"placeholder,omitempty"`   // its criteria follow from what is built
	Parent      string   `json:"parent,omitempty"`        // ID of the task that caused it; "": none
	FromParent  bool     `json:"from_parent,omitempty"`   // it starts from its parent's work, and is merged there
}

// wireSuggestion is a blackboard.Suggestion for models.
type wireSuggestion struct {
	Task

	Rationale string `json:"rationale,omitempty"`
}

// Decision is a blackboard.Decision as members get it.
type Decision struct {
	ID        string    `json:"id"`                   // ID on the board
	Area      string    `json:"area"`                 // area, such as db
	AppliesTo []string  `json:"applies_to,omitempty"` // IDs of tasks; none: all, or those of the component of that name
	Summary   string    `json:"summary"`              // the decision in words
	Reason    string    `json:"reason,omitempty"`     // reason; "": none
	At        time.Time `json:"timestamp,omitzero"`   // time of the decision
}

// wireInsight is a blackboard.Insight for models.
type wireInsight struct {
	ID         string    `json:"id"`
	Topic      []string  `json:"topic,omitempty"`
	Summary    string    `json:"summary"`
	SourceTask string    `json:"source_task,omitempty"`
	At         time.Time `json:"timestamp,omitzero"`
}

// wireBlocked is a blackboard.BlockedReason for models.
type wireBlocked struct {
	Type        blackboard.BlockType `json:"type"`
	Description string               `json:"description,omitempty"`
	WaitingOn   []string             `json:"waiting_on,omitempty"`
	Since       time.Time            `json:"since,omitzero"`
}

func wireDecisions(all []blackboard.Decision) []Decision {
	return each(all, func(d blackboard.Decision) Decision { return Decision(d) })
}

func wireInsights(all []blackboard.Insight) []wireInsight {
	return each(all, func(i blackboard.Insight) wireInsight { return wireInsight(i) })
}

// each returns the list of what of makes of the elements. Nil stays nil.
func each[A, B any](list []A, of func(A) B) []B {
	if list == nil {
		return nil
	}
	made := make([]B, len(list))
	for i, one := range list {
		made[i] = of(one)
	}
	return made
}
