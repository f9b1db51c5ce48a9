package director

import (
	"time"

	"github.com/convene-go/convene/blackboard/worktree"
)

// The operations that Agents.Worktree is asked for, as Request.Op. Each can be repeated.
const (
	opOpen    = "open"    // begins a run, and removes worktrees that it has left: an empty object, openedRepo
	opCreate  = "create"  // makes the worktree of an attempt: createRequest, createdTree
	opCommit  = "commit"  // commits what a worker has made: commitRequest, committedWork
	opInspect = "inspect" // reads what is reviewed: inspectRequest, inspectedWork
	opMerge   = "merge"   // merges what passed: mergeRequest, mergedWork
	opRemove  = "remove"  // removes what is not needed any more: removeRequest, an empty object
)

// The inputs and answers of a [Worktrees].
type (
	// openedRepo says where merges go, and what the names of branches begin with.
	openedRepo struct {
		Branch string `json:"branch"`
		Prefix string `json:"prefix"`
	}

	// createRequest makes the worktree of an attempt.
	createRequest struct {
		Task    string `json:"task"`
		Attempt int    `json:"attempt"`        // from 1
		Base    string `json:"base,omitempty"` // a branch or commit; "": the branch that merges go to

		// Update merges the branch Into into it: what was merged there meanwhile.
		Update bool   `json:"update,omitempty"`
		Into   string `json:"into,omitempty"` // "": the branch that merges go to
	}

	// createdTree is a worktree, and the commit at which its branch is. Conflicts are files
	// that have two versions between conflict markers, for the worker to decide.
	createdTree struct {
		Tree      worktree.Tree `json:"tree"`
		Head      string        `json:"head"`
		Conflicts []string      `json:"conflicts,omitempty"`
	}

	// commitRequest commits everything in a worktree that is not ignored, and the file
	// at Path in any case.
	commitRequest struct {
		Tree    worktree.Tree `json:"tree"`
		Since   string        `json:"since"`       // the commit at which the branch was
		At      time.Time     `json:"at,omitzero"` // time of the commit
		Phase   string        `json:"phase"`
		Summary string        `json:"summary"`
		Path    string        `json:"path,omitempty"`
		Text    string        `json:"text,omitempty"` // written to Path before
		Into    string        `json:"into,omitempty"` // branch that Path is to be merged into; "": the one that merges go to
	}

	// committedWork is the commit at which the branch is then.
	committedWork struct {
		Commit string `json:"commit"`
		Files  int    `json:"files"`            // number of changed files; 0: there was nothing to commit
		Found  bool   `json:"found,omitempty"`  // the file at Path is there
		Unsafe string `json:"unsafe,omitempty"` // why nothing was committed: a path leaves the worktree

		Unresolved []string `json:"unresolved,omitempty"` // files with conflict markers of an update; only with Path
	}

	// inspectRequest asks for an artifact at a commit of a tree, and what that commit would
	// change in the branch Into; "" is the one that merges go to.
	inspectRequest struct {
		Tree   worktree.Tree `json:"tree"`
		Commit string        `json:"commit"`
		Path   string        `json:"path"`
		Limit  int           `json:"limit"` // most bytes of a text
		Into   string        `json:"into,omitempty"`
	}

	// inspectedWork is an artifact. Missing says that there is none at that path.
	inspectedWork struct {
		Artifact Artifact `json:"artifact"`
		Missing  bool     `json:"missing,omitempty"`
		Diff     string   `json:"diff,omitempty"`
	}

	// mergeRequest merges a commit of a tree.
	mergeRequest struct {
		Tree   worktree.Tree `json:"tree"`
		Commit string        `json:"commit"`
		Into   string        `json:"into,omitempty"` // a branch; "": the one that merges go to

		// Prepare makes the commit of the merge, and changes no branch. Checked is such a
		// commit: it is merged only if the branch is where it was then.
		Prepare bool   `json:"prepare,omitempty"`
		Checked string `json:"checked,omitempty"`
	}

	// mergedWork is the result of a merge. Files are what the merge changed: hashes by path, ""
	// for a file that was removed; none if the work was in the branch without a merge.
	mergedWork struct {
		worktree.Merge

		Files    map[string]string `json:"files,omitempty"`
		Prepared string            `json:"prepared,omitempty"` // the commit of a merge that is not on the branch
		Onto     string            `json:"onto,omitempty"`     // the commit that it would be merged onto
	}

	// removeRequest removes worktrees, and with Branches their branches.
	removeRequest struct {
		Trees    []worktree.Tree `json:"trees"`
		Branches bool            `json:"branches,omitempty"`
	}
)
