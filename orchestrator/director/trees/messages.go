package trees

import (
	"time"

	"github.com/convene-go/convene/blackboard/worktree"
)

// The operations of an [Agent], as Request.Op. Each can be repeated.
const (
	OpOpen    = "open"    // begins a run, and removes worktrees that it has left
	OpCreate  = "create"  // makes the worktree of an attempt
	OpCommit  = "commit"  // commits the changes in a worktree
	OpInspect = "inspect" // reads an artifact and a diff, for a review
	OpMerge   = "merge"   // merges a commit
	OpRemove  = "remove"  // removes worktrees
)

// Opened is the answer to OpOpen, whose input is an empty object.
type Opened struct {
	Branch string `json:"branch"` // branch that merges go to
	Prefix string `json:"prefix"` // beginning of the names of branches
}

// CreateRequest is the input of OpCreate.
type CreateRequest struct {
	Task    string `json:"task"`           // ID of the task
	Attempt int    `json:"attempt"`        // number of the attempt, from 1
	Base    string `json:"base,omitempty"` // branch or commit to begin at; "": the branch that merges go to

	Update bool   `json:"update,omitempty"` // Into is merged into the worktree
	Into   string `json:"into,omitempty"`   // branch for Update; "": the branch that merges go to
}

// Created is the answer to OpCreate.
type Created struct {
	Tree      worktree.Tree `json:"tree"`                // the worktree
	Head      string        `json:"head"`                // commit at which its branch is
	Conflicts []string      `json:"conflicts,omitempty"` // files with two versions between conflict markers
}

// CommitRequest is the input of OpCommit. All that is not ignored is committed, and the file
// at Path in any case.
type CommitRequest struct {
	Tree    worktree.Tree `json:"tree"`           // the worktree
	Since   string        `json:"since"`          // commit at which the branch was
	At      time.Time     `json:"at,omitzero"`    // time of the commit
	Phase   string        `json:"phase"`          // phase, for the message
	Summary string        `json:"summary"`        // the work in words, for the message
	Path    string        `json:"path,omitempty"` // file with the result; "": the work goes on
	Text    string        `json:"text,omitempty"` // text that is written to Path before; "": none
	Into    string        `json:"into,omitempty"` // branch that the work is to be merged into; "": the one that merges go to
}

// Committed is the answer to OpCommit.
type Committed struct {
	Commit     string   `json:"commit"`               // commit at which the branch is
	Files      int      `json:"files"`                // number of changed files; 0: there was nothing to commit
	Found      bool     `json:"found,omitempty"`      // the file at Path is there
	Unsafe     string   `json:"unsafe,omitempty"`     // why nothing was committed: a path leaves the worktree
	Unresolved []string `json:"unresolved,omitempty"` // files with conflict markers of an update; only with Path
}

// InspectRequest is the input of OpInspect.
type InspectRequest struct {
	Tree   worktree.Tree `json:"tree"`           // the worktree
	Commit string        `json:"commit"`         // commit that is reviewed
	Path   string        `json:"path"`           // file with the result
	Limit  int           `json:"limit"`          // most bytes of a text
	Into   string        `json:"into,omitempty"` // branch of the diff; "": the one that merges go to
}

// Inspected is the answer to OpInspect.
type Inspected struct {
	Artifact worktree.Artifact `json:"artifact"`          // file at Path
	Missing  bool              `json:"missing,omitempty"` // there is no file at Path
	Diff     string            `json:"diff,omitempty"`    // changes that the commit would make in Into
}

// MergeRequest is the input of OpMerge.
type MergeRequest struct {
	Tree   worktree.Tree `json:"tree"`           // the worktree
	Commit string        `json:"commit"`         // commit to merge
	Into   string        `json:"into,omitempty"` // branch to merge into; "": the one that merges go to

	Prepare bool   `json:"prepare,omitempty"` // the commit of the merge is made, and no branch is changed
	Checked string `json:"checked,omitempty"` // prepared commit: merged only if the branch is where it was then
}

// Merged is the answer to OpMerge.
type Merged struct {
	worktree.Merge

	Files    map[string]string `json:"files,omitempty"`    // hashes of changed files by path, "" if removed; none: the work was in the branch already
	Prepared string            `json:"prepared,omitempty"` // commit of a merge that is not on the branch
	Onto     string            `json:"onto,omitempty"`     // commit that Prepared would be merged onto
}

// RemoveRequest is the input of OpRemove, whose answer is an empty object.
type RemoveRequest struct {
	Trees    []worktree.Tree `json:"trees"`              // worktrees to remove
	Branches bool            `json:"branches,omitempty"` // their branches are removed, too
}
