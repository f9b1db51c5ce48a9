package delivery

import "github.com/convene-go/convene/orchestrator/agent"

// File is a file that a coder wrote: its whole content, or its deletion.
type File struct {
	Path    string `json:"path"`              // path from the root of the project, with slashes
	Content string `json:"content,omitempty"` // whole content; "" if Delete
	Delete  bool   `json:"delete,omitempty"`  // true: the file is removed
}

// critical is the Severity of an issue that rejects tests, and code if it is about security.
const critical = "critical"

// Issue is something that is wrong with work.
type Issue struct {
	Severity    string `json:"severity" enum:"critical,major,minor"`     // weight: "critical", "major" or "minor"
	Category    string `json:"category" enum:"bug,security,smell,other"` // kind of issue: "bug", "security", "smell" or "other"
	Description string `json:"description"`                              // fault in words
	Location    string `json:"location,omitempty"`                       // where it is; "": not known
}

// insecure reports whether an issue is critical for security.
func (i Issue) insecure() bool { return i.Severity == critical && i.Category == "security" }

// FixPlan is what a coder shall do about issues, in this order.
type FixPlan struct {
	Items []string `json:"items"` // things to do, in this order
}

// TestResult is the result of tests: a tester's report, or a real run.
type TestResult struct {
	Kind        string   `json:"kind,omitempty"`        // "run": a real run; "": the report of a tester
	Passed      bool     `json:"passed"`                // true: all passed
	Reason      string   `json:"reason,omitempty"`      // why a real run has not passed
	Ran         int      `json:"ran,omitempty"`         // number of tests of a real run that passed or failed
	Issues      []Issue  `json:"issues,omitempty"`      // issues of the work
	Suggestions []string `json:"suggestions,omitempty"` // advice without a fault
	Coverage    *float64 `json:"coverage,omitempty"`    // coverage in percent, 0 to 100; nil: not judged
	Output      string   `json:"output,omitempty"`      // output of a real run, without times and paths of the machine
	FixPlan     *FixPlan `json:"fixPlan,omitempty"`     // plan of fixes; nil: it follows from Issues
}

// The operations of Agents.Workspace, as Request.Op. Each acts once per Key of its call
// and request, and changes only the project. Request.Prompt says when the run began: a
// later run may use the same ID, and so the same keys.
const (
	OpSnapshot = "snapshot" // stores the state of the project: [SnapshotRequest], [Snapshot]
	OpApply    = "apply"    // writes files: [ApplyRequest], no answer
	OpTest     = "test"     // runs the project's tests: no input, [TestResult]; failed tests are no error
	OpRestore  = "restore"  // restores a stored state: [Snapshot], no answer
)

// ApplyRequest is the input of OpApply. If one path is refused, nothing is written.
type ApplyRequest struct {
	Files []File `json:"files"` // files to write or to remove
}

// SnapshotRequest is the input of OpSnapshot.
type SnapshotRequest struct {
	Since string `json:"since,omitempty"` // ID of the older snapshot for the answer's Diff; "": no Diff
}

// Snapshot is a state of the project. Equal states have equal IDs.
type Snapshot struct {
	ID   string `json:"id"`             // name of the state
	Diff string `json:"diff,omitempty"` // difference in unified format; "": not asked for
}

// ErrUnsafePath says that a file was refused because of its path.
const ErrUnsafePath = agent.Code("delivery/unsafe-path")
