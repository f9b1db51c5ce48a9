package director

import (
	"time"

	"github.com/convene-go/convene/blackboard"
)

// Models read and write the names of the documents (depends_on), hosts those of the Go
// fields (dependsOn). The types here are parts of the board as models see them. Each has
// the fields of its type in blackboard, so that a conversion makes one of the other.

// wireTask is a blackboard.Definition for models.
type wireTask struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Component   string   `json:"component"`
	Phase       string   `json:"phase"`
	Profile     string   `json:"assigned_worker_profile"`
	Priority    int      `json:"priority"`
	DependsOn   []string `json:"depends_on"`
	Criteria    []string `json:"acceptance_criteria"`
	Risk        *float64 `json:"risk,omitempty"`
	Placeholder bool     `json:"placeholder,omitempty"`
	Parent      string   `json:"parent,omitempty"`
	FromParent  bool     `json:"from_parent,omitempty"`
}

// wireSuggestion is a blackboard.Suggestion for models.
type wireSuggestion struct {
	wireTask

	Rationale string `json:"rationale,omitempty"`
}

// wireDecision is a blackboard.Decision for models.
type wireDecision struct {
	ID        string    `json:"id"`
	Area      string    `json:"area"`
	AppliesTo []string  `json:"applies_to,omitempty"`
	Summary   string    `json:"summary"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"timestamp,omitzero"`
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

func wireDecisions(all []blackboard.Decision) []wireDecision {
	return each(all, func(d blackboard.Decision) wireDecision { return wireDecision(d) })
}

func wireInsights(all []blackboard.Insight) []wireInsight {
	return each(all, func(i blackboard.Insight) wireInsight { return wireInsight(i) })
}

func wireSuggestions(all []blackboard.Suggestion) []wireSuggestion {
	return each(all, func(s blackboard.Suggestion) wireSuggestion {
		return wireSuggestion{wireTask(s.Definition), s.Rationale}
	})
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
