package workspace

// Mark is by what the processes of w are found.
func Mark(w *Workspace) string { return w.mark }

// Judge is the result of a run.
var Judge = judge
