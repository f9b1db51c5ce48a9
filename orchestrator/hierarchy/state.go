package hierarchy

import "slices"

// State is what a run exposes while it goes on (H93).
type State struct {
	Phase       RunPhase          `json:"phase"`
	Departments []DepartmentState `json:"departments"` // the chosen ones, in the order of the route
}

// DepartmentState is where a department is.
type DepartmentState struct {
	ID           string            `json:"id"`
	Phase        DepartmentPhase   `json:"phase"`
	QualityScore *int              `json:"qualityScore,omitempty"` // of one that is done
	Specialists  []SpecialistState `json:"specialists"`            // in the order of selection
}

// SpecialistState is where a specialist is.
type SpecialistState struct {
	AgentID  string          `json:"agentId"`
	Phase    SpecialistPhase `json:"phase"`
	Attempts int             `json:"attempts"`        // begun
	Score    *float64        `json:"score,omitempty"` // of the last graded attempt
}

// snapshot returns a copy that shares no slice with s.
func (s State) snapshot() State {
	s.Departments = slices.Clone(s.Departments)
	for i, d := range s.Departments {
		s.Departments[i].Specialists = slices.Clone(d.Specialists)
	}
	return s
}
