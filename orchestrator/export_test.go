package orchestrator

// CheckJSON is checkJSON for tests.
var CheckJSON = checkJSON
