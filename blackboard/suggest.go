package blackboard

import (
	"errors"
	"fmt"
	"math"
)

// Suggest is an [Action] of the worker of an ACTIVE task: it suggests further tasks. They
// stay on the task until the director has reviewed them.
type Suggest struct {
	Suggestions []Suggestion `json:"suggestions"` // at least one
}

func (Suggest) kind() string { return "suggest" }

func (s Suggest) apply(e *Editor, c Change) error {
	if err := c.checkRole([]Role{RoleWorker}); err != nil {
		return err
	}
	t, err := e.live(c.Task)
	switch {
	case err != nil:
		return err
	case t.Status != Active:
		return fmt.Errorf("it is %s, want ACTIVE", t.Status)
	case len(s.Suggestions) == 0:
		return errors.New("suggestions is empty")
	}
	for i := range s.Suggestions {
		if risk := s.Suggestions[i].Risk; risk != nil && (math.IsNaN(*risk) || math.IsInf(*risk, 0)) {
			return fmt.Errorf("suggestions[%d]: risk is %v, want a number", i, *risk)
		}
	}
	t.Suggested, t.UpdatedAt = append(t.Suggested, s.Suggestions...), c.At
	return nil
}

// DropSuggestions is an [Action] of the director: it removes the oldest suggestions of a
// task, which were reviewed. The task may be final.
type DropSuggestions struct {
	Count int `json:"count"` // 1 to the number of suggestions
}

func (DropSuggestions) kind() string { return "drop_suggestions" }

func (s DropSuggestions) apply(e *Editor, c Change) error {
	if err := c.checkRole(director); err != nil {
		return err
	}
	t, err := e.task(c.Task)
	if err != nil {
		return err
	}
	if s.Count < 1 || s.Count > len(t.Suggested) {
		return fmt.Errorf("count is %d, want 1 to %d", s.Count, len(t.Suggested))
	}
	t.Suggested, t.UpdatedAt = t.Suggested[s.Count:], c.At
	return nil
}
