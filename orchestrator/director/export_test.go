package director

// What Agents.Worktree is asked, for tests that wrap it.
const (
	OpOpen    = opOpen
	OpCreate  = opCreate
	OpCommit  = opCommit
	OpInspect = opInspect
	OpMerge   = opMerge
	OpRemove  = opRemove

	FindTools = findTools
	CallTool  = callTool
)

type (
	Opened         = openedRepo
	CreateRequest  = createRequest
	Created        = createdTree
	CommitRequest  = commitRequest
	Committed      = committedWork
	InspectRequest = inspectRequest
	Inspected      = inspectedWork
	MergeRequest   = mergeRequest
	Merged         = mergedWork
	RemoveRequest  = removeRequest
)
