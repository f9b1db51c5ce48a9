package director

import "github.com/convene-go/convene/orchestrator/director/trees"

// What Agents.Worktree is asked, for tests that wrap it.
const (
	OpCreate  = trees.OpCreate
	OpCommit  = trees.OpCommit
	OpInspect = trees.OpInspect
	OpMerge   = trees.OpMerge
	OpOpen    = trees.OpOpen
	OpRemove  = trees.OpRemove
)

type (
	Opened         = trees.Opened
	CreateRequest  = trees.CreateRequest
	Created        = trees.Created
	CommitRequest  = trees.CommitRequest
	Committed      = trees.Committed
	InspectRequest = trees.InspectRequest
	Inspected      = trees.Inspected
	MergeRequest   = trees.MergeRequest
	Merged         = trees.Merged
	RemoveRequest  = trees.RemoveRequest
)
